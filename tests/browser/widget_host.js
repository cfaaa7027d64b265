// The host side of anywidget over a kernel's comm: a notebook front end that has ipywidgets and nothing of ours.
class WidgetModel {
  constructor(kernel, id, state) {
    Object.assign(this, { kernel, id, state, listeners: new Map(), changed: {} });
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    this.state[name] = this.changed[name] = value;
    this.trigger(`change:${name}`, value);
  }
  save_changes() {
    this.kernel.comm(this.id, { method: 'update', state: this.changed, buffer_paths: [] });
    this.changed = {};
  }
  send(content) {
    this.kernel.comm(this.id, { method: 'custom', content });
  }
  on(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }
  off(name, listener) {
    this.listeners.set(name, (this.listeners.get(name) ?? []).filter(one => one !== listener));
  }
  trigger(name, ...values) {
    (this.listeners.get(name) ?? []).forEach(listener => listener(...values));
  }
}

class Kernel {
  constructor(base, token, metadata) {
    Object.assign(this, { base, token, metadata, models: new Map(), runs: new Map(), session: crypto.randomUUID() });
  }
  async start(path) {
    const headers = { Authorization: `token ${this.token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ path, name: path, type: 'notebook', kernel: { name: 'python3' } });
    const made = await fetch(`${this.base}api/sessions`, { method: 'POST', headers, body });
    const { kernel } = await made.json();
    const address = `${this.base.replace('http', 'ws')}api/kernels/${kernel.id}/channels?session_id=${this.session}&token=${this.token}`;
    this.socket = new WebSocket(address);
    this.socket.binaryType = 'arraybuffer';
    this.socket.onmessage = ({ data }) => this.receive(typeof data === 'string' ? JSON.parse(data) : decode(data));
    await new Promise(resolve => (this.socket.onopen = resolve));
  }
  /** Runs a cell and returns its outputs; `el` shows the last one. */
  run(code, el) {
    const id = this.post('shell', 'execute_request', { code, silent: false, store_history: true, user_expressions: {}, allow_stdin: true });
    return new Promise(done => this.runs.set(id, { outputs: [], done, el }));
  }
  comm(comm_id, data) {
    this.post('shell', 'comm_msg', { comm_id, data });
  }
  post(channel, msg_type, content) {
    const header = { msg_id: crypto.randomUUID(), msg_type, session: this.session, username: '', date: new Date().toISOString(), version: '5.4' };
    this.socket.send(JSON.stringify({ channel, header, parent_header: {}, metadata: this.metadata, content, buffers: [] }));
    return header.msg_id;
  }
  receive({ header, parent_header, content, buffers = [] }) {
    const run = this.runs.get(parent_header.msg_id);
    const actions = {
      comm_open: () => content.target_name === 'jupyter.widget' && this.models.set(content.comm_id, new WidgetModel(this, content.comm_id, content.data.state)),
      comm_msg: () => this.onComm(content.comm_id, content.data, buffers),
      display_data: () => this.show(run, content),
      update_display_data: () => this.update(content),
      execute_result: () => this.show(run, content),
      stream: () => run?.outputs.push({ text: content.text }),
      error: () => run?.outputs.push({ error: content.traceback.join('\n') }),
      status: () => content.execution_state === 'idle' && run?.done(run.outputs) // on the channel of the outputs, after the last one
    };
    actions[header.msg_type]?.();
  }
  onComm(id, { method, state, content }, buffers) {
    const model = this.models.get(id);
    if (model && method === 'update') {
      Object.entries(state).forEach(([name, value]) => {
        model.state[name] = value;
        model.trigger(`change:${name}`, value);
      });
    } else if (model && method === 'custom') {
      model.trigger('msg:custom', content, buffers);
    }
  }
  show(run, output) {
    if (!run) return;
    run.outputs.push(output);
    const node = document.createElement('div');
    node.className = 'output';
    node.dataset.display = output.transient?.display_id ?? '';
    run.el.append(node);
    void this.draw(node, output.data);
  }
  update({ data, transient }) {
    document.querySelectorAll(`[data-display="${transient.display_id}"]`).forEach(node => void this.draw(node, data));
  }
  async draw(node, data) {
    node.cleanup?.();
    node.replaceChildren();
    const widget = data['application/vnd.jupyter.widget-view+json'];
    if (widget) {
      await this.drawWidget(node, this.models.get(widget.model_id));
    } else if (data['text/html']) {
      node.innerHTML = data['text/html'];
    } else {
      node.textContent = data['text/plain'];
    }
  }
  async drawWidget(node, model) {
    const style = document.createElement('style');
    style.textContent = model.get('_css');
    const el = document.createElement('div');
    node.append(style, el);
    const { default: widget } = await import(URL.createObjectURL(new Blob([model.get('_esm')], { type: 'text/javascript' })));
    await widget.initialize?.({ model });
    node.cleanup = await widget.render({ model, el });
  }
}

/** Reads a message with binary buffers: the number of its parts, where each begins, then the JSON and the buffers. */
function decode(buffer) {
  const view = new DataView(buffer);
  const starts = Array.from({ length: view.getUint32(0) }, (_, part) => view.getUint32(4 * (part + 1)));
  const [json, ...buffers] = starts.map((start, part) => new DataView(buffer, start, (starts[part + 1] ?? buffer.byteLength) - start));
  return { ...JSON.parse(new TextDecoder().decode(json)), buffers };
}

window.startKernel = async (base, token, path, metadata) => {
  window.kernel = new Kernel(base, token, metadata);
  await window.kernel.start(path);
};
window.runCell = code => {
  const cell = document.createElement('div');
  cell.className = 'cell';
  document.body.append(cell);
  return window.kernel.run(code, cell);
};
