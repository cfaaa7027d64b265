import type { AnyModel } from '@anywidget/types';
import { parseQuestionData, parseWidgetReply, type QuestionData } from '../approval/model.js';
import { QuestionView, type Send } from '../approval/question_view.js';
import { SERVICES_EVENT, type ServicesRequest } from '../shared/card_services.js';
import { element } from '../shared/element.js';
import { hostNode, NO_TRANSLATION } from '../shared/host.js';
import { tryParse } from '../shared/parse.js';
import type { CardContext } from '../shared/tokens.js';

interface QuestionState {
  question: unknown;
}

/** What every front end can do: it shows the card, without links to files. */
const PLAIN: CardContext = {
  trans: NO_TRANSLATION,
  locate: () => null,
  open: () => undefined,
  cancel: () => undefined,
  runAction: () => undefined,
  markdown: async source => element('pre', '', source)
};

/** The approval widget's entry point for anywidget.  The question is drawn when its element is attached and visible. */
export default {
  render({ model, el }: { model: AnyModel<QuestionState>; el: HTMLElement }): () => void {
    const data = tryParse(parseQuestionData, model.get('question'));
    if (data === null) {
      el.append(NO_TRANSLATION.__('This question was asked by another version of nbtools. Reload the page.'));
      return () => undefined;
    }
    let view: QuestionView | null = null;
    const onMessage = (message: unknown): void => {
      const reply = tryParse(parseWidgetReply, message);
      reply && view?.receive(reply);
    };
    const visibility = new ResizeObserver(() => {
      if (view === null && el.isConnected && el.clientWidth > 0) {
        visibility.disconnect();
        view = drawQuestion(el, data, message => model.send(message));
      }
    });
    model.on('msg:custom', onMessage);
    visibility.observe(el);
    return () => {
      visibility.disconnect();
      model.off('msg:custom', onMessage);
      view?.dispose();
    };
  }
};

function drawQuestion(el: HTMLElement, data: QuestionData, send: Send): QuestionView {
  const node = hostNode(el, 'nbtools-question-widget');
  const view = new QuestionView(data, contextAt(node, data.card.root), send);
  node.append(view.node);
  view.appear();
  return view;
}

/** Returns the page's services for the cards at a node, or else what every front end can do. */
function contextAt(node: HTMLElement, root: string): CardContext {
  let context = PLAIN;
  const detail: ServicesRequest = { root, provide: provided => (context = provided) };
  node.dispatchEvent(new CustomEvent(SERVICES_EVENT, { detail, bubbles: true, composed: true }));
  return context;
}
