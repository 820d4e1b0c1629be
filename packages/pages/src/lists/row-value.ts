/** The values of a row, and their texts. Pure. */

/** Returns the value at a path: `health.waiting`. */
export const valueAt = (row: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], row)

/** Whether a row has nothing to display for a value. */
export const isNone = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

/** Returns a text with a capital at its beginning. */
export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Returns the words for the caller of an operation. */
export const whoText = ({ kind, id, name }: Readonly<Record<string, string | null>>): string =>
  name ?? (!id || id === kind ? kind! : `${kind} ${id}`)
