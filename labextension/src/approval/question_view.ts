import { CardView } from '../cards/card.js';
import { element, makeScrollable } from '../shared/element.js';
import type { CardContext, ChangeChoice } from '../shared/tokens.js';
import { untilInput } from '../shared/until_input.js';
import { AnswerBar } from './answer_bar.js';
import { formAction, keyAction, type FormField as FieldKind, type KeyPress, type Role } from './answer_keys.js';
import { ChangesView } from './changes_view.js';
import { AutoFocus, FOCUS_EVENT, isTextField, notebookOf, SAFE_CONTROL } from './auto_focus.js';
import { FieldView } from './form_field.js';
import type { AnswerMessage, EditableText, QuestionData, WidgetReply } from './model.js';
import { ModifyPane } from './modify_pane.js';

/** Share of the window's height that the body of a question takes at most, before it scrolls. */
const BODY_SHARE = 0.6;
const MIN_BODY = 120;
const MARGIN = 16;
/** Milliseconds after which the status of an answer without a reply is "waiting for the kernel". */
const SLOW_REPLY = 2000;

/** Sends a message to the kernel: an answer, or the request for the editable text. */
export type Send = (message: AnswerMessage | EditRequest) => void;

interface EditRequest {
  readonly question: string;
  readonly edit: true;
  /** The number of the file whose text is wanted; null for that of the call. */
  readonly file: number | null;
}

/** An open question: its card, and the buttons or the form that answer it.  It is answered once; the kernel then removes it. */
export class QuestionView {
  readonly node = element('div', 'nbtools-asking');
  /** What to apply of each file, in their order; empty where the change is all or nothing. */
  private readonly files: readonly TakenChange[];
  private readonly card: CardView;
  private readonly changed: ChangesView | null;
  private readonly fields: readonly FieldView[];
  private readonly bar: AnswerBar;
  private readonly problem = element('div', 'nbtools-problem');
  private readonly focus = new AutoFocus(this.node);
  private readonly sizes = new ResizeObserver(() => this.fit());
  private readonly onWindowKey = (event: KeyboardEvent): void => this.onKey(event);
  private editor: ModifyPane | null = null;
  /** The number of the file in the editor. */
  private edited: number | null = null;
  private isSent = false;
  private hasFocus = false;
  private notebook: HTMLElement | null = null;
  private outputs: Element | null = null;

  constructor(
    private readonly data: QuestionData,
    private readonly context: CardContext,
    private readonly send: Send
  ) {
    this.files = this.changes();
    this.card = new CardView({ ...context, choices: this.files });
    this.fields = data.fields.map(field => new FieldView(field, context.trans));
    this.changed = data.changes && new ChangesView(data.changes, context, () => this.fit());
    this.bar = new AnswerBar(data, context.trans, role => this.press(role));
    this.draw();
    this.listen();
  }

  /** Takes the focus, where that disturbs nobody, and scrolls the question into view.  Call it when the node is visible. */
  appear(): void {
    this.notebook = notebookOf(this.node);
    this.outputs = this.node.closest('.jp-Cell-outputWrapper');
    this.fit();
    this.bar.settle();
    this.focus.appear(this.safeControl);
  }

  /** Handles a message of the kernel.  One that another view of the question has asked for is ignored. */
  receive(reply: WidgetReply): void {
    if (reply.question !== this.data.id || !this.isSent) {
      return;
    }
    this.isSent = false;
    this.node.removeAttribute('aria-busy');
    if (reply.editable !== null) {
      this.modify(reply.editable);
    }
    this.problem.textContent = reply.problem;
  }

  /** Ends the view.  After an answer from here, the result is scrolled into view, and the focus moves on. */
  dispose(): void {
    window.removeEventListener('keydown', this.onWindowKey, true);
    this.sizes.disconnect();
    this.card.dispose();
    this.changed?.dispose();
    this.editor?.dispose();
    if (this.isSent || this.hasFocus) {
      const { notebook, outputs } = this;
      void untilInput(() => {
        const active = document.activeElement; // such as a lesson's Continue, below the result
        this.isSent && (outputs?.contains(active) ? active : outputs)?.scrollIntoView({ block: 'nearest' });
        this.focus.leave(notebook);
      });
    }
    this.focus.dispose();
  }

  private get isForm(): boolean {
    return this.fields.length > 0;
  }

  private get safeControl(): HTMLElement {
    return this.node.querySelector<HTMLElement>(SAFE_CONTROL)!;
  }

  private draw(): void {
    const { card } = this.data;
    this.card.update(this.isForm ? { ...card, blocks: [], note: '' } : card);
    this.problem.setAttribute('role', 'alert');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', [card.tool, card.subject, card.status].filter(Boolean).join(' '));
    this.node.classList.toggle('nbtools-form', this.isForm);
    const changes = this.changed ? [this.changed.node] : [];
    const form = this.isForm ? [element('div', 'nbtools-fields', ...this.fields.map(({ node }) => node))] : [];
    this.node.append(this.card.node, ...changes, ...form, this.bar.node, this.problem);
    (this.isForm ? this.fields[0]!.control : this.bar.button('deny')!).dataset['nbtoolsSafe'] = '';
    this.updateForm();
  }

  private listen(): void {
    // In the capture phase of the window, because JupyterLab handles its shortcuts in that of the document.
    window.addEventListener('keydown', this.onWindowKey, true);
    this.node.addEventListener('input', () => this.updateForm());
    this.node.addEventListener(FOCUS_EVENT, event => {
      this.focus.returnTo((event as CustomEvent<Element | null>).detail);
      this.bar.settle();
      this.focus.take(this.safeControl);
    });
    this.node.addEventListener('focusin', () => (this.hasFocus = true));
    this.node.addEventListener('focusout', event => (this.hasFocus = event.relatedTarget === null));
    this.sizes.observe(this.node);
  }

  /** Returns the choices of all files, each taken at first. */
  private changes(): TakenChange[] {
    const diffs = this.data.card.blocks.filter(block => block.type === 'diff');
    return this.data.files.map(({ hunks, can_modify }, file) => {
      const isMoved = !!diffs[file]?.former;
      return new TakenChange(hunks, this.data.files.length > 1, isMoved, () => this.showTaken(), can_modify ? () => this.edit(file) : null);
    });
  }

  private showTaken(): void {
    const parts = this.files.flatMap(file => file.parts);
    this.bar.showTaken(parts.filter(Boolean).length, parts.length);
  }

  private updateForm(): void {
    const send = this.bar.button('answers');
    if (send) {
      send.disabled = !this.fields.every(field => field.isComplete);
    }
  }

  /** Limits the height of the body, so that the head and the buttons are in view with it. */
  private fit(): void {
    const body = this.node.querySelector<HTMLElement>(this.isForm ? '.nbtools-fields' : '.nbtools-card > .nbtools-body');
    if (body && this.node.offsetHeight > 0 && this.editor === null) {
      const room = this.node.closest('.jp-WindowedPanel-outer')?.clientHeight ?? window.innerHeight;
      const rest = this.node.offsetHeight - body.offsetHeight;
      body.style.maxHeight = `${Math.round(Math.max(MIN_BODY, Math.min(BODY_SHARE * window.innerHeight, room - rest - MARGIN)))}px`;
      if (!this.isForm && body.scrollHeight > body.clientHeight) {
        makeScrollable(body, this.context.trans.__('Details'));
      } else {
        body.removeAttribute('tabindex');
      }
    }
  }

  private press(role: Role): void {
    const button = this.bar.button(role);
    if (this.isSent || this.editor !== null || !button || button.disabled) {
      return;
    }
    if (role === 'modify') {
      this.edit(null);
    } else {
      this.answer(role);
    }
  }

  /** Requests the text of the call, or of one of its files, for the editor. */
  private edit(file: number | null): void {
    if (!this.isSent && this.editor === null) {
      this.edited = file;
      this.send({ question: this.data.id, edit: true, file });
      this.wait();
    }
  }

  private answer(outcome: Role, text: string | null = null): void {
    if (this.isSent) {
      return;
    }
    const isFile = outcome === 'modify' && this.edited !== null;
    const isPart = outcome === 'once' && this.files.some(file => !file.isWhole);
    const isAlways = outcome === 'always' || outcome === 'folder' || outcome === 'server';
    this.send({
      question: this.data.id,
      outcome,
      reason: outcome === 'deny' ? this.bar.reason : '',
      text,
      files: isFile || isPart ? this.files.map(({ taken, hunks }) => ({ taken, hunks })) : null,
      file: isFile ? this.edited : null,
      answers: outcome === 'answers' ? this.fields.map(field => field.answer) : null,
      remember: isAlways && this.bar.isRemembered
    });
    this.wait();
  }

  /** Ignores further answers until the kernel replies or removes the question. */
  private wait(): void {
    this.isSent = true;
    this.problem.textContent = '';
    this.node.setAttribute('aria-busy', 'true');
    window.setTimeout(() => {
      if (this.isSent) {
        this.problem.textContent = this.context.trans.__('Waiting for the kernel…');
      }
    }, SLOW_REPLY);
  }

  private modify(editable: EditableText): void {
    if (this.editor !== null) {
      return;
    }
    this.editor = new ModifyPane(
      editable,
      this.context.trans,
      text => this.answer('modify', text),
      () => this.back()
    );
    this.node.classList.add('nbtools-modifying');
    this.bar.node.before(this.editor.node);
    this.editor.open();
  }

  private back(): void {
    this.editor?.dispose();
    this.editor = null;
    this.problem.textContent = '';
    this.node.classList.remove('nbtools-modifying');
    this.fit();
    const files = this.node.querySelectorAll<HTMLElement>('.nbtools-modify-file');
    const number = this.files.slice(0, this.edited ?? 0).filter(({ modify }) => modify).length;
    (this.edited === null ? this.bar.button('modify') : files[number])?.focus();
  }

  private onKey(event: KeyboardEvent): void {
    const [target] = event.composedPath();
    if (!(target instanceof HTMLElement) || !this.node.contains(target) || this.editor?.handlesKeysOf(target)) {
      return;
    }
    const { key, repeat, isComposing } = event;
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && key.length > 1) || isComposing;
    if (this.act(event, target, { key, repeat, modified })) {
      event.stopImmediatePropagation();
    }
  }

  /** Does what a key does.  Returns true if the key must not reach Jupyter's shortcuts. */
  private act(event: KeyboardEvent, target: HTMLElement, press: KeyPress): boolean {
    if (isTextField(target) && press.modified) {
      return press.key === 'Enter'; // it would run the notebook's selected cell
    }
    if (this.isForm) {
      return this.actInForm(event, target, press);
    }
    if (this.editor !== null) {
      return press.key === 'Escape' ? (event.preventDefault(), this.back(), true) : press.key.length === 1 || press.key === 'Enter';
    }
    if (isTextField(target)) {
      return this.actInReason(event, press);
    }
    const action = keyAction(press, this.focus.isRecent);
    if (action !== 'native' && action !== 'pass') {
      event.preventDefault();
    }
    if (typeof action === 'object') {
      this.press(action.press);
    }
    return action !== 'pass';
  }

  /** In the field of the reason, Enter denies and Esc leaves the field. */
  private actInReason(event: KeyboardEvent, { key, repeat }: KeyPress): boolean {
    if (key !== 'Enter' && key !== 'Escape') {
      return false;
    }
    event.preventDefault();
    if (key === 'Enter' && !repeat) {
      this.press('deny');
    } else if (key === 'Escape') {
      this.bar.button('deny')?.focus();
    }
    return true;
  }

  private actInForm(event: KeyboardEvent, target: HTMLElement, press: KeyPress): boolean {
    const text = (target as HTMLInputElement).value?.trim() ?? '';
    const action = formAction(press, fieldKind(target), text !== '', this.focus.isRecent);
    if (action !== 'native' && action !== 'pass') {
      event.preventDefault();
    }
    if (action === 'send') {
      this.press('answers');
    } else if (action === 'skip') {
      this.press('deny');
    } else if (action === 'leave') {
      this.bar.button('deny')?.focus();
    }
    return action !== 'pass';
  }
}

/** What the person takes of a file's change. */
class TakenChange implements ChangeChoice {
  taken = true;
  readonly hunks: boolean[];

  constructor(
    hunks: number,
    readonly hasBox: boolean,
    private readonly isMoved: boolean,
    private readonly onChange: () => void,
    readonly modify: (() => void) | null
  ) {
    this.hunks = Array.from({ length: hunks }, () => true);
  }

  get isWhole(): boolean {
    return this.taken && !this.hunks.includes(false);
  }

  /** The units that are counted: the hunks, and the file where it is moved or its hunks cannot be chosen. */
  get parts(): readonly boolean[] {
    return [...(this.isMoved || !this.hunks.length ? [this.taken] : []), ...this.hunks];
  }

  take(taken: boolean): void {
    this.taken = taken;
    this.hunks.fill(taken);
    this.onChange();
  }

  /** A file can be moved without any of its hunks; another one without hunks is left out. */
  takeHunk(hunk: number, taken: boolean): void {
    this.hunks[hunk] = taken;
    this.taken = this.isMoved ? this.taken || taken : this.hunks.includes(true);
    this.onChange();
  }
}

function fieldKind(target: HTMLElement): FieldKind {
  return isTextField(target) ? 'text' : target.localName === 'input' ? 'choice' : 'button';
}
