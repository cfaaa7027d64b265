import { element } from '../../shared/element.js';
import type { QuestionBlock } from '../model.js';
import { withLinks, type BlockView } from './block.js';

/** A question to the person, with its choices and, once given, the answer. */
export class QuestionView implements BlockView<QuestionBlock> {
  readonly node = element('div', 'nbtools-question');

  update(block: QuestionBlock): void {
    const header = block.header ? [element('b', '', block.header), ' · '] : [];
    const question = element('div', 'nbtools-asked', ...header, ...withLinks(block.text));
    const choices = block.choices.map(([label, description]) =>
      element('li', '', label, ...(description ? [' ', element('span', 'nbtools-quiet', description)] : []))
    );
    const answer = block.answer ? [element('div', 'nbtools-answer', '→ ', element('b', '', block.answer))] : [];
    this.node.replaceChildren(question, ...(choices.length ? [element('ul', '', ...choices)] : []), ...answer);
  }
}
