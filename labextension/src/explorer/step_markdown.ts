import { unify } from '../cards/diff_rows.js';
import { plainText } from '../cards/highlighting.js';
import type { Card } from '../cards/model.js';
import type { TraceOpened } from './model.js';

type Block = Card['blocks'][number];
/** The language of a code block, and its text. */
type Fenced = readonly [string, string];

/** Returns a step as Markdown.  Its texts are in code blocks, so that nothing in them is rendered or loaded where it is pasted. */
export function stepMarkdown({ number, card, link }: TraceOpened): string {
  const head = [`**${[number && `Step ${number}`, inline(card.tool)].filter(Boolean).join(' · ')}**`, card.subject && code(card.subject)];
  const outcome = [card.status, card.detail].filter(Boolean).map(inline).join(', ');
  const body = card.blocks.map(fencedOf).filter(([, text]) => text.trim() !== '');
  const foot = [inline(card.record), link && code(link)].filter(Boolean).join(' · ');
  return [head.filter(Boolean).join(' ') + (outcome && ` — ${outcome}`), ...body.map(fenced), foot].filter(Boolean).join('\n\n') + '\n';
}

function fencedOf(block: Block): Fenced {
  switch (block.type) {
    case 'diff':
      return ['diff', [`--- ${block.path}`, ...block.hunks.flatMap(diffLines)].join('\n')];
    case 'command':
      return ['sh', block.parts.map(({ operator, spans }) => [operator, plainText(spans)].filter(Boolean).join(' ')).join('\n')];
    case 'output':
      return ['text', block.lines.map(plainText).join('\n')];
    case 'code':
      return ['text', block.lines.map(plainText).join('\n')];
    case 'matches':
      return [
        'text',
        block.groups.flatMap(({ path, lines }) => [path, ...lines.map(one => `${one.number}: ${plainText(one.spans)}`)]).join('\n')
      ];
    case 'listing':
      return ['text', block.entries.map(({ path, branch, folder }) => branch + path + (folder ? '/' : '')).join('\n')];
    case 'text':
      return [block.markdown ? 'markdown' : 'text', block.text];
    case 'todo':
      return ['text', block.items.map(({ text, status }) => `[${status}] ${text}`).join('\n')];
    case 'question':
      return [
        'text',
        [block.text, ...block.choices.map(([label]) => `- ${label}`), block.answer && `→ ${block.answer}`].filter(Boolean).join('\n')
      ];
    default:
      return ['text', `[${block.type}]`];
  }
}

function diffLines({ rows, folded, hidden }: Extract<Block, { type: 'diff' }>['hunks'][number]): string[] {
  const missing = hidden + (folded ? rows.length : 0);
  const lines = folded ? [] : unify(rows).map(({ sign, spans }) => (sign === '−' ? '-' : sign) + plainText(spans));
  return missing ? [...lines, `@@ ${missing} unchanged or omitted lines @@`] : lines;
}

function fenced([language, text]: Fenced): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text.replace(/\n+$/, '')}\n${fence}`;
}

/** Returns a text as inline code, whatever backticks it contains. */
function code(text: string): string {
  const fence = '`'.repeat(longestRun(text) + 1);
  const pad = /^`|`$/.test(text) ? ' ' : '';
  return `${fence}${pad}${text.replace(/\s+/g, ' ')}${pad}${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(run => run.length));
}

/** Returns a text without meaning in Markdown. */
function inline(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]<>#|~!&]/g, '\\$&');
}
