/** The name in the row of a person, for the list of people. */
export const namesOfPeople = `
ALTER TABLE gh_people ADD COLUMN name {text};
`
