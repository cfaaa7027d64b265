import { element } from '../../shared/element.js';
import type { ImageBlock } from '../model.js';
import type { BlockView } from './block.js';

/** An image, no wider than the card, with a note. */
export class ImageView implements BlockView<ImageBlock> {
  private readonly image = element('img', 'nbtools-picture');
  private readonly note = element('div', 'nbtools-quiet');
  readonly node = element('div', 'nbtools-image', this.image, this.note);

  update(block: ImageBlock): void {
    this.image.src = `data:${block.mime_type};base64,${block.data}`;
    this.image.alt = block.path;
    this.note.textContent = block.note;
  }
}
