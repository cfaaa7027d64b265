import type { Kernel } from '../live_cells/kernel_channel.js';
import { Dialog, ReactWidget } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { FormComponent } from '@jupyterlab/ui-components';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { useEffect, useMemo, useRef, useState } from 'react';
import { icon } from '../shared/icons.js';
import css from '../style/new_call.raw.css';
import { fieldsOf, KERNEL_VALIDATES } from './form_schema.js';
import { type Forms, formsOf, problemOf } from './forms.js';
import type { CheckedCall, FormTool } from './model.js';

document.head.append(Object.assign(document.createElement('style'), { textContent: css }));

/** Milliseconds between the last key and the request what the call would be. */
const CHECK_DELAY = 250;

export interface ChosenCall {
  readonly source: string;
  readonly run: boolean;
}

/** What the dialog needs of its notebook. */
export interface NewCallOptions {
  readonly kernel: Kernel;
  readonly notebook: string;
  readonly trans: TranslationBundle;
  /** Loads nbtools in the notebook; resolves when that is done. */
  load(): Promise<unknown>;
}

/** Shows the dialog *New call*; returns the cell that the person wants, or null. */
export async function newCall(options: NewCallOptions): Promise<ChosenCall | null> {
  const { trans, notebook } = options;
  let chosen: ChosenCall | null = null;
  const body = ReactWidget.create(
    <NewCall
      {...options}
      finish={call => {
        chosen = call;
        dialog.reject();
      }}
    />
  );
  body.addClass('nbtools-new-call');
  const dialog = new FormDialog({
    title: trans.__('New call in %1', notebook),
    body,
    buttons: [],
    hasClose: true,
    focusNodeSelector: 'input'
  });
  dialog.addClass('nbtools-new-call-dialog');
  await dialog.launch();
  return chosen;
}

/** A dialog whose body handles all keys but Escape. */
class FormDialog extends Dialog<unknown> {
  override handleEvent(event: Event): void {
    if (!(event instanceof KeyboardEvent) || event.key === 'Escape') {
      super.handleEvent(event);
    }
  }
}

type Status = 'loading' | 'slow' | 'missing' | 'ready';

function NewCall({ kernel, trans, load, finish }: NewCallOptions & { finish(call: ChosenCall | null): void }) {
  const [attempt, setAttempt] = useState(0);
  const [status, setStatus] = useState<Status>('loading');
  const [tools, setTools] = useState<readonly FormTool[]>([]);
  const [tool, setTool] = useState<FormTool | null>(null);
  const forms = useMemo(() => formsOf(kernel), [kernel]);

  useEffect(() => {
    let isCurrent = true;
    const show = (now: Status) => isCurrent && setStatus(now);
    show('loading');
    forms
      .request('forms.tools', {}, late => late && show('slow'))
      .then(
        answer => {
          setTools(answer.tools);
          show('ready');
        },
        () => show('missing')
      );
    return () => {
      isCurrent = false;
    };
  }, [forms, attempt]);

  if (status === 'missing') {
    return (
      <div className="nbtools-new-call-empty">
        <p>{trans.__('nbtools is not loaded in this notebook, so that there are no tools yet.')}</p>
        <button type="button" className="jp-mod-styled jp-mod-accept" onClick={() => void load().then(() => setAttempt(attempt + 1))}>
          {trans.__('Load nbtools')}
        </button>
      </div>
    );
  }
  if (status !== 'ready') {
    return (
      <p className="nbtools-new-call-empty" role="status">
        {status === 'slow' ? trans.__('The kernel is busy. The tools appear when it is free.') : trans.__('Loading the tools…')}
      </p>
    );
  }
  return (
    <div className="nbtools-new-call-panes" data-chosen={tool !== null}>
      <ToolList tools={tools} chosen={tool} choose={setTool} trans={trans} />
      {tool ? (
        <ToolForm key={tool.name} tool={tool} forms={forms} trans={trans} finish={finish} />
      ) : (
        <p className="nbtools-new-call-empty">{trans.__('Choose a tool.')}</p>
      )}
    </div>
  );
}

interface ToolListProps {
  readonly tools: readonly FormTool[];
  readonly chosen: FormTool | null;
  readonly trans: TranslationBundle;
  choose(tool: FormTool): void;
}

/** A searchable list of tools.  Up and Down move through it from the search field, Enter chooses. */
function ToolList({ tools, chosen, choose, trans }: ToolListProps) {
  const [query, setQuery] = useState('');
  const [marked, setMarked] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = tools.filter(tool => words.every(word => `${tool.name} ${tool.kind} ${tool.about}`.toLowerCase().includes(word)));
  const move = (step: number) => {
    const next = Math.max(0, Math.min(found.length - 1, marked + step));
    setMarked(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const onKey = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      move(event.key === 'ArrowDown' ? 1 : -1);
      event.preventDefault();
    } else if (event.key === 'Enter' && found[marked]) {
      choose(found[marked]);
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return (
    <div className="nbtools-tool-list">
      <input
        type="search"
        autoFocus
        className="jp-mod-styled"
        value={query}
        placeholder={trans.__('Search the tools')}
        aria-label={trans.__('Search the tools')}
        role="combobox"
        aria-expanded="true"
        aria-controls="nbtools-tool-options"
        aria-activedescendant={found[marked] ? `nbtools-tool-${marked}` : undefined}
        onChange={event => {
          setQuery(event.target.value);
          setMarked(0);
        }}
        onKeyDown={onKey}
      />
      <div className="nbtools-tool-options" id="nbtools-tool-options" role="listbox" aria-label={trans.__('Tools')} ref={list}>
        {found.map((tool, index) => (
          <div
            key={tool.name}
            id={`nbtools-tool-${index}`}
            role="option"
            aria-selected={tool.name === chosen?.name}
            data-marked={index === marked}
            className="nbtools-tool-option"
            title={tool.about}
            onClick={() => {
              setMarked(index);
              choose(tool);
            }}
          >
            <Icon name={tool.icon} />
            <span className="nbtools-tool-name">{tool.name}</span>
            <span className="nbtools-tool-policy">{tool.policy}</span>
            <span className="nbtools-tool-about">{tool.about}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="nbtools-new-call-empty">{trans.__('No tool matches.')}</p>}
    </div>
  );
}

/** One of our own icons. */
function Icon({ name }: { readonly name: string }) {
  return <span className="nbtools-tool-icon" ref={node => node?.replaceChildren(icon(name))} />;
}

/** What a call would be, or the problem in the form's values. */
interface Checked {
  readonly action: CheckedCall['action'] | '';
  readonly reason: string;
  readonly source: string;
  readonly problem: string;
}

interface ToolFormProps {
  readonly tool: FormTool;
  readonly forms: Forms;
  readonly trans: TranslationBundle;
  finish(call: ChosenCall | null): void;
}

/** The form of one tool; below it, what the policy would decide. */
function ToolForm({ tool, forms, trans, finish }: ToolFormProps) {
  const [form, setForm] = useState<object | null>(null);
  const [values, setValues] = useState<ReadonlyJSONObject>({});
  const [answer, setAnswer] = useState<Checked | null>(null);
  const drawn = useMemo(() => (form ? fieldsOf(form) : null), [form]);
  const fields = useRef<HTMLDivElement>(null);

  useEffect(() => nameControls(fields.current));

  useEffect(() => {
    drawn && fields.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
  }, [drawn]);

  useEffect(() => {
    forms.request('forms.form', { tool: tool.name }).then(
      reply => setForm(JSON.parse(reply.form) as object),
      () => undefined
    );
  }, [forms, tool]);
  useEffect(() => {
    let isCurrent = true;
    setAnswer(null);
    const timer = setTimeout(() => {
      void forms
        .request('forms.check', { tool: tool.name, values: JSON.stringify(values) })
        .then(
          (call): Checked => ({ ...call, problem: '' }),
          (error: unknown): Checked => ({ action: '', reason: '', source: '', problem: problemOf(error) })
        )
        .then(checked => isCurrent && setAnswer(checked));
    }, CHECK_DELAY);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [forms, tool, values]);

  if (drawn === null) {
    return <div className="nbtools-tool-form" />;
  }
  const source = answer?.source ?? '';
  return (
    <div className="nbtools-tool-form">
      <div className="nbtools-tool-fields" ref={fields}>
        <FormComponent
          schema={drawn.schema}
          uiSchema={drawn.uiSchema}
          validator={KERNEL_VALIDATES}
          formData={values}
          onChange={({ formData }) => setValues(formData ?? {})}
          noValidate
          compact
          showModifiedFromDefault={false}
          idPrefix={`nbtools-form-${tool.name}`}
          tagName="div"
        />
      </div>
      <div className="nbtools-form-verdict" role="status" data-action={answer?.problem ? 'problem' : (answer?.action ?? '')}>
        {answer && <Verdict answer={answer} trans={trans} />}
      </div>
      <pre className="nbtools-form-source" role="group" aria-label={trans.__('Cell')} tabIndex={0}>
        {source}
      </pre>
      <div className="nbtools-form-buttons">
        <button type="button" className="jp-mod-styled" onClick={() => finish(null)}>
          {trans.__('Close')}
        </button>
        <button type="button" className="jp-mod-styled" disabled={!source} onClick={() => finish({ source, run: false })}>
          {trans.__('Insert as cell')}
        </button>
        <button type="button" className="jp-mod-styled jp-mod-accept" disabled={!source} onClick={() => finish({ source, run: true })}>
          {trans.__('Run')}
        </button>
      </div>
    </div>
  );
}

/** Names each control by the title of its field, which JupyterLab draws as text beside it. */
function nameControls(fields: HTMLElement | null): void {
  for (const control of fields?.querySelectorAll<HTMLInputElement>('input, textarea, select') ?? []) {
    const title = control.closest('.form-group')?.querySelector('.jp-FormGroup-fieldLabel')?.textContent;
    if (title && !control.labels?.length) {
      control.setAttribute('aria-label', title);
    }
  }
}

function Verdict({ answer, trans }: { readonly answer: Checked; readonly trans: TranslationBundle }) {
  if (answer.problem) {
    return <>{answer.problem}</>;
  }
  const words = {
    allow: trans.__('Runs without approval'),
    ask: trans.__('Asks for approval'),
    deny: trans.__('Not allowed'),
    '': ''
  };
  return (
    <>
      <strong>{words[answer.action]}</strong> {answer.reason}
    </>
  );
}
