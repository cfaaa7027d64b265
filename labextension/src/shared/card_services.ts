import type { CardContext } from './tokens.js';

/** The type of the event by which a widget asks the page for a card's services, once it is attached.  It bubbles. */
export const SERVICES_EVENT = 'nbtools-services';

/** The request of a widget: the labextension provides a context; in other front ends nobody does. */
export interface ServicesRequest {
  /** The workspace relative to the notebook's folder, as in a card. */
  readonly root: string;
  provide(context: CardContext): void;
}
