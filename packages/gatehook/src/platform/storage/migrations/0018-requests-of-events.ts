/**
 * The request that caused an event, and the address of a customer's contact. Neither has an
 * index: it would cost every change a third of its event's insert.
 */
export const requestsOfEvents = `
ALTER TABLE gh_events ADD COLUMN request_id {text};
ALTER TABLE gh_customers ADD COLUMN contact_email {text};
`
