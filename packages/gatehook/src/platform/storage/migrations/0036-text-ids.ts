/** The ids of objects that are texts (§6.16); `object_id` has those that are integers. */
export const textIds = `
ALTER TABLE gh_events ADD COLUMN object_key {text};
`
