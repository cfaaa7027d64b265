import css from '../lib/style/index.raw.css';

document.head.append(Object.assign(document.createElement('style'), { textContent: css }));
