import { type JSX, useRef, useState } from 'react';
import { answerLabels } from '../approval/labels.js';
import { icon } from '../shared/icons.js';
import { showCell } from './jump.js';
import type { AnswerMessage } from '../approval/model.js';
import type { WaitingQuestion } from './model.js';
import {
  CardNode,
  contextOfCard,
  Empty,
  type KnownKernel,
  knownKernels,
  notebookNames,
  type PanelContext,
  PanelButton,
  send
} from './panel_context.js';

/** Length of a card's blocks as JSON up to which they are shown without being opened. */
const SHORT = 12_000;
/** Milliseconds after a row has come or gone in which clicks are ignored: the row under the pointer may be another one. */
const SETTLING = 400;

interface Row {
  readonly kernel: KnownKernel;
  readonly question: WaitingQuestion;
}

/** The questions of all kernels. */
export function Waiting({ context }: { context: PanelContext }): JSX.Element {
  const rows: Row[] = knownKernels(context.states).flatMap(kernel => kernel.state.questions.map(question => ({ kernel, question })));
  const ids = rows.map(({ question }) => question.data.id).join(' ');
  const settled = useRef({ ids, since: 0 });
  if (settled.current.ids !== ids) {
    settled.current = { ids, since: performance.now() };
  }
  if (rows.length === 0) {
    return <Empty context={context} text={context.trans.__('Nothing waits. Calls that need approval appear here.')} />;
  }
  return (
    <ul className="nbtools-panel-rows" tabIndex={-1}>
      {rows.map(row => (
        <Question
          key={row.question.data.id}
          row={row}
          context={context}
          isSettled={() => performance.now() - settled.current.since > SETTLING}
        />
      ))}
    </ul>
  );
}

interface QuestionProps {
  readonly row: Row;
  readonly context: PanelContext;
  isSettled(): boolean;
}

function Question({ row: { kernel, question }, context, isSettled }: QuestionProps): JSX.Element {
  const { trans } = context;
  const labels = answerLabels(trans);
  const { card, fields } = question.data;
  const isShort = JSON.stringify(card.blocks).length <= SHORT;
  const [isOpen, setOpen] = useState(isShort);
  const [isSent, setSent] = useState(false);
  const call = `${card.tool} ${card.subject}`;
  const answer = (outcome: AnswerMessage['outcome']) => async (event: React.MouseEvent) => {
    if (event.detail > 1 || !isSettled()) {
      return;
    }
    const item = event.currentTarget.closest('li');
    const next = item?.nextElementSibling ?? item?.previousElementSibling;
    setSent(true);
    const answer = { question: question.data.id, outcome, reason: '', text: null, files: null, file: null, answers: null, remember: false };
    const reply = await send(context, kernel, 'panel.answer', answer);
    setSent(false);
    reply && focusAfter(item, next);
  };
  return (
    <li className="nbtools-waiting" data-question={question.data.id}>
      <div className="nbtools-place" title={kernel.state.folder}>
        {notebookNames(kernel)}
      </div>
      {isOpen ? <CardNode card={card} context={contextOfCard(context, kernel)} /> : <Summary question={question} />}
      <div className="nbtools-actions" role="group" aria-label={trans.__('Answers to %1', call)}>
        {fields.length === 0 && (
          <PanelButton
            kind="primary"
            label={labels.once}
            disabled={!isOpen || isSent}
            title={isOpen ? '' : trans.__('Show the details first')}
            onClick={answer('once')}
          />
        )}
        <PanelButton safe label={fields.length ? labels.skip : labels.deny} disabled={isSent} onClick={answer('deny')} />
        <PanelButton
          kind={fields.length ? 'primary' : undefined}
          label={fields.length ? trans.__('Go to form') : trans.__('Show')}
          title={fields.length ? trans.__('Go to the first field of the form, in its cell') : trans.__('Go to the cell that asks')}
          onClick={() => showCell(context.app, kernel, question.cell)}
        />
        {!isShort && (
          <PanelButton
            kind="link"
            expanded={isOpen}
            label={isOpen ? trans.__('Hide details') : trans.__('Details')}
            onClick={() => setOpen(!isOpen)}
          />
        )}
      </div>
    </li>
  );
}

/** The head of a card that is not open. */
function Summary({ question: { data } }: { question: WaitingQuestion }): JSX.Element {
  const { tool, subject, added, removed } = data.card;
  return (
    <div className="nbtools-summary">
      <IconNode name={data.card.icon} />
      <code>{tool}</code>
      <span className="nbtools-what" title={subject}>
        {subject}
      </span>
      <Counts added={added} removed={removed} />
    </div>
  );
}

export function IconNode({ name }: { name: string }): JSX.Element {
  return <span className="nbtools-row-icon" ref={node => node?.replaceChildren(icon(name))} />;
}

/** Numbers of added and removed lines; nothing where they are not known. */
export function Counts({ added, removed }: { added: number | null; removed: number | null }): JSX.Element | null {
  return added === null || removed === null || added + removed === 0 ? null : (
    <span className="nbtools-counts">
      <span className="nbtools-plus">+{added}</span> <span className="nbtools-minus">−{removed}</span>
    </span>
  );
}

/** Moves the focus on when the row that had it has gone. */
function focusAfter(item: Element | null, next: Element | null | undefined): void {
  const list = item?.parentElement;
  requestAnimationFrame(() => {
    if (document.activeElement === document.body || item?.contains(document.activeElement)) {
      const safe = next?.isConnected ? next.querySelector<HTMLElement>('[data-nbtools-safe]') : null;
      (safe ?? list)?.focus();
    }
  });
}
