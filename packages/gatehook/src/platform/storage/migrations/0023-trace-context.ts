/** The trace in which an event was recorded, as W3C `traceparent`: deliveries continue it. */
export const traceContext = `
ALTER TABLE gh_events ADD COLUMN trace {text};
`
