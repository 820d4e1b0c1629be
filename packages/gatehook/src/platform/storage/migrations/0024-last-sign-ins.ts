/** When a person last signed in with its password. */
export const lastSignIns = `
ALTER TABLE gh_people ADD COLUMN last_sign_in_at {int};
`
