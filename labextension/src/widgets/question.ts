/** The approval widget's entry point for anywidget. */
export default {
  render({ el }: { el: HTMLElement }): void {
    el.classList.add('nbtools-question-widget');
  }
};
