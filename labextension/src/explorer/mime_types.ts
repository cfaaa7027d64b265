// Generated from nbtools/traces/explorer/explorer_view.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

export const TRACE_MIME = 'application/vnd.nbtools.trace.v1+json';
export const SESSIONS_MIME = 'application/vnd.nbtools.sessions.v1+json';
export const COMPARISON_MIME = 'application/vnd.nbtools.comparison.v1+json';
