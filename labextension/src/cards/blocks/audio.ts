import { element } from '../../shared/element.js';
import type { AudioBlock } from '../model.js';
import type { BlockView } from './block.js';

/** An audio player with a note.  Updates do not interrupt playback. */
export class AudioView implements BlockView<AudioBlock> {
  private readonly player = element('audio', 'nbtools-sound');
  private readonly note = element('div', 'nbtools-quiet');
  readonly node = element('div', 'nbtools-image', this.player, this.note);

  constructor() {
    this.player.controls = true;
    this.player.preload = 'metadata';
  }

  update(block: AudioBlock): void {
    const source = `data:${block.mime_type};base64,${block.data}`;
    if (this.player.src !== source) {
      this.player.src = source;
    }
    this.note.textContent = `♪ ${block.note}`;
  }

  dispose(): void {
    this.player.pause();
  }
}
