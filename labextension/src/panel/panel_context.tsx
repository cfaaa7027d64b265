import type { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { type JSX, useEffect, useRef } from 'react';
import { CardView } from '../cards/card.js';
import { cardContext } from '../cards/context.js';
import type { Card } from '../cards/model.js';
import { makeScrollable } from '../shared/element.js';
import { locate } from '../shared/path.js';
import type { Params } from '../shared/channel.js';
import type { CardContext, FollowedKernel, FollowedState, IKernelStates, ICardServices, PanelMethod } from '../shared/tokens.js';
import type { RecentLogs } from './recent_logs.js';
import type { StateOutcome } from './model.js';
import { request } from './requests.js';

/** What the sections of the panel use. */
export interface PanelContext {
  readonly app: JupyterFrontEnd;
  readonly states: IKernelStates;
  readonly services: ICardServices;
  readonly logs: RecentLogs;
  readonly trans: TranslationBundle;
}

/** A kernel whose state is known. */
export type KnownKernel = FollowedKernel & { readonly state: FollowedState };

export function knownKernels(states: IKernelStates): readonly KnownKernel[] {
  return states.current.filter((kernel): kernel is KnownKernel => kernel.state !== null);
}

/** The names of a kernel's notebooks. */
export function notebookNames(kernel: FollowedKernel): string {
  return kernel.panels.map(panel => panel.title.label).join(', ') || PathExt.basename(kernel.path);
}

/** Sends a request of a section; see `request`. */
export function send<M extends PanelMethod>(
  context: PanelContext,
  kernel: FollowedKernel,
  method: M,
  params: Params<M>
): Promise<StateOutcome | null> {
  return request(context.states, kernel.kernel, context.trans, method, params);
}

/** The services of a card that is shown outside its notebook. */
export function contextOfCard(context: PanelContext, kernel: KnownKernel): CardContext {
  const folder = context.app.serviceManager.contents.localPath(kernel.path).replace(/[^/]*$/, '');
  return cardContext(context.services, context.trans, path => locate(folder, kernel.state.root, path));
}

/** A card, drawn as in a cell. */
export function CardNode({ card, context }: { card: Card; context: CardContext }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<CardView | null>(null);
  useEffect(() => {
    const created = (view.current = new CardView(context));
    host.current!.replaceChildren(created.node);
    const body = created.node.querySelector<HTMLElement>('.nbtools-body');
    body && makeScrollable(body, context.trans.__('Details'));
    return () => created.dispose();
  }, []);
  useEffect(() => view.current!.update(card), [card]);
  return <div className="nbtools-rendered" ref={host} />;
}

/** A section without rows: what would be there, or how to begin. */
export function Empty({ context, text }: { context: PanelContext; text: string }): JSX.Element {
  const { app, states, trans } = context;
  const loaded = states.current.some(kernel => kernel.loaded);
  if (loaded) {
    return <p className="nbtools-empty">{text}</p>;
  }
  const canLoad = states.current.length > 0 && app.commands.hasCommand('nbtools:load');
  return (
    <div className="nbtools-empty">
      <p>{trans.__('No notebook with nbtools: run %load_ext nbtools in a cell.')}</p>
      {canLoad && <PanelButton label={trans.__('Load nbtools')} onClick={() => app.commands.execute('nbtools:load')} />}
    </div>
  );
}

/** The notebook of the rows that follow, where several notebooks have rows. */
export function KernelHeading({ kernel, count }: { kernel: KnownKernel; count: number }): JSX.Element | null {
  return count < 2 ? null : (
    <p className="nbtools-heading" title={kernel.state.folder}>
      {notebookNames(kernel)}
    </p>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly title?: string;
  readonly kind?: 'primary' | 'plain' | 'link';
  readonly disabled?: boolean;
  readonly name?: string;
  readonly safe?: boolean;
  readonly expanded?: boolean;
  onClick(event: React.MouseEvent): unknown;
}

/** A button.  A disabled one can have the focus, so that its title is read.  `name` is for screen readers, where the label is not enough. */
export function PanelButton({ label, title, kind = 'plain', disabled, name, safe, expanded, onClick }: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      className={`nbtools-panel-button nbtools-panel-${kind}`}
      title={title}
      aria-label={name}
      aria-disabled={disabled ? true : undefined}
      aria-expanded={expanded}
      data-nbtools-safe={safe ? '' : undefined}
      onClick={event => disabled || onClick(event)}
    >
      {label}
    </button>
  );
}
