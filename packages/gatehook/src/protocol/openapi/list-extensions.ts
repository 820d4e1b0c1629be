/** The extensions of a list in OpenAPI documents, for clients whose rows are not typed. */

/** The names of members that `?fields=a,b` selects. */
export const FIELDS = 'x-fields'
/** The media types of `Accept` that return all rows instead of a page. */
export const EXPORTS = 'x-exports'
