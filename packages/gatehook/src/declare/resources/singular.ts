/**
 * The singular of a collection's name, which names its schemas and operations in OpenAPI. These
 * names are a promise to generated clients, so the rules are few; a declaration has the last word
 * (`singular: 'datum'`). Pure.
 */
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'

export const COLLECTION_NAME = /^[a-z][a-z0-9_]{0,40}$/

const IRREGULAR: Readonly<Record<string, string>> = {
  aliases: 'alias',
  children: 'child',
  cookies: 'cookie',
  data: 'data',
  halves: 'half',
  knives: 'knife',
  leaves: 'leaf',
  lives: 'life',
  men: 'man',
  movies: 'movie',
  news: 'news',
  people: 'person',
  series: 'series',
  shelves: 'shelf',
  species: 'species',
  women: 'woman',
}

/** The first rule that matches decides. */
const RULES: readonly (readonly [ending: RegExp, replacement: string])[] = [
  [/([^aeiou])ies$/, '$1y'], // companies
  [/(ss|x|ch|sh|zz)es$/, '$1'], // addresses, boxes, batches
  [/([^aeio])uses$/, '$1us'], // statuses, but houses
  [/(ss|us|is)$/, '$1'], // status, analysis
  [/s$/, ''],
]

/** Returns `tax_rate` for `tax_rates`; only the last word of a name is a plural. */
export function singularOf(collection: string): string {
  const [, words = '', last = ''] = /^(.*_)?([^_]*)$/.exec(collection) ?? []
  const rule = RULES.find(([ending]) => ending.test(last))
  return words + (IRREGULAR[last] ?? (rule ? last.replace(rule[0], rule[1]) : last))
}

/** Returns the declared singular, or that of the name. Throws `DeclarationError`. */
export function readSingular(name: string, singular: unknown = singularOf(name)): string {
  if (typeof singular === 'string' && COLLECTION_NAME.test(singular)) return singular
  throw new DeclarationError('singular is snake_case, at most 41 characters')
}
