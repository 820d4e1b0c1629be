/** A client may be first party: its tokens reach the account endpoints (§4.5). */
export const firstPartyClients = `
ALTER TABLE gh_clients ADD COLUMN first_party {int} NOT NULL DEFAULT 0;
`
