/** Whether a client is first-party: its tokens are valid at the account endpoints (§4.5). */
export const firstPartyClients = `
ALTER TABLE gh_clients ADD COLUMN first_party {int} NOT NULL DEFAULT 0;
`
