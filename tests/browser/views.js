// The page's half of `views.py`: a kernel (see widget_host.js) whose messages go to the process of the tests.
window.kernel = new Kernel('', '', {});
window.unanswered = 0;
window.kernel.post = async (_channel, _type, { comm_id, data }) => {
  window.unanswered += 1;
  const replies = await window.sendToTests(comm_id, data, performance.now() / 1000);
  for (const [reply, buffers] of replies) {
    const views = buffers.map(text => new DataView(Uint8Array.from(atob(text), byte => byte.charCodeAt(0)).buffer));
    window.kernel.onComm(comm_id, reply, views);
  }
  window.unanswered -= 1;
};
window.showWidget = async (id, state) => {
  const model = new WidgetModel(window.kernel, id, state);
  window.kernel.models.set(id, model);
  const cell = document.createElement('div');
  cell.className = 'cell';
  document.body.append(cell);
  await window.kernel.drawWidget(cell, model);
};
