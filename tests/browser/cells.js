// The page's half of `cells.py`: a kernel (see widget_host.js) whose messages go to the process of the tests, and cells with its outputs.
class Cells extends Kernel {
  constructor(renderers) {
    super('', '', {});
    this.renderers = renderers;
  }
  /** Removes the cells of an earlier test with all that belongs to them, and makes empty ones. */
  open(count) {
    this.renderers.settings.set({}); // forgets choices that hold for all cards
    document.querySelectorAll('.cell > .output').forEach(node => this.clear(node));
    document.querySelectorAll('.cell').forEach(cell => cell.remove());
    this.models.clear();
    this.runs.clear();
    window.opened = [];
    window.scrollTo(0, 0);
    for (let index = 0; index < count; index += 1) {
      const cell = document.createElement('div');
      cell.className = 'cell';
      cell.dataset.index = index;
      document.body.append(cell);
    }
  }
  clear(node) {
    node.cleanup?.();
    node.cleanup = null;
    this.renderers.clear(node);
    node.replaceChildren();
  }
  async start(index, code) {
    const cell = document.querySelector(`.cell[data-index="${index}"]`);
    cell.replaceChildren();
    cell.dataset.busy = '';
    this.metadata = { cellId: `cell-${index}`, deletedCells: [], recordTiming: false }; // as JupyterLab sends it
    await this.run(code, cell);
    delete cell.dataset.busy;
  }
  post(_channel, msg_type, content) {
    const header = { msg_id: crypto.randomUUID(), msg_type };
    void window.sendToKernel({ header, metadata: this.metadata, content });
    return header.msg_id;
  }
  /** Sends what a button of a card asks for: each request opens a comm of its own. */
  request(method, params) {
    this.post('shell', 'comm_open', { comm_id: crypto.randomUUID(), target_name: 'nbtools', data: { id: 1, method, params } });
  }
  receive(message) {
    super.receive(message);
    const { header, parent_header, content } = message;
    const cell = this.runs.get(parent_header.msg_id)?.el;
    if (cell && header.msg_type === 'stream') {
      this.print(cell, content.text);
    } else if (cell && header.msg_type === 'error') {
      this.print(cell, content.traceback.join('\n'));
    }
  }
  print(cell, text) {
    const last = cell.lastElementChild;
    const node = last?.matches('.stream') ? last : cell.appendChild(Object.assign(document.createElement('pre'), { className: 'output stream' }));
    node.append(text);
  }
  /** Draws one bundle after the other: a widget takes a moment to load. */
  draw(node, data) {
    node.drawing = (node.drawing ?? Promise.resolve()).then(async () => {
      const isWidget = 'application/vnd.jupyter.widget-view+json' in data;
      if (!node.isConnected) {
        return; // the cell has run again
      }
      if (isWidget || node.cleanup) {
        this.clear(node);
      }
      await (isWidget ? super.draw(node, data) : this.renderers.draw(node, data));
    });
    return node.drawing;
  }
}

window.openCells = async (count, script, css) => {
  if (!window.cells) {
    const { OutputRenderers } = await import(script);
    document.head.append(Object.assign(document.createElement('style'), { textContent: css }));
    window.cells = new Cells(new OutputRenderers((method, params) => window.cells.request(method, params), (path, line) => window.opened.push([path, line])));
  }
  window.cells.open(count);
};
