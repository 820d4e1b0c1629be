/**
 * Two schemas, one of each document: objects, lists and forms, down to the values (`values.ts`).
 * A component is compared once for each direction, however many operations show it. Pure.
 */
import {
  componentOf,
  isEqual,
  listOf,
  type Node,
  nodeOf,
  normalSchema,
  stable,
} from './document.ts'
import {
  added,
  broken,
  type Direction,
  type Finding,
  inside,
  type Place,
  segment,
  shifted,
  subject,
} from './finding.ts'
import { typesOf, valueShifts } from './values.ts'

/** Compares two schemas as they stand in the documents. The same findings are the same objects. */
export type CompareSchemas = (old: unknown, now: unknown, place: Place) => readonly Finding[]

interface Context {
  readonly old: Node
  readonly now: Node
  readonly known: Map<string, Finding[]>
}

export function schemaComparison(old: Node, now: Node): CompareSchemas {
  const context: Context = { old, now, known: new Map() }
  return (one, other, place) => compare(context, one, other, place)
}

const isAnything = (schema: unknown): boolean =>
  schema === undefined || schema === true || stable(schema) === '{}'

function compare(context: Context, old: unknown, now: unknown, place: Place): Finding[] {
  if (isAnything(old) && isAnything(now)) return []
  const name = componentOf(now)
  if (name === undefined) return compared(context, old, now, place)
  const key = `${place.direction} ${componentOf(old) ?? `${place.name} ${place.path}`} ${name}`
  const known = context.known.get(key)
  if (known) return known
  const findings: Finding[] = []
  context.known.set(key, findings) // a schema may hold itself
  const where = String(nodeOf(now).$ref)
  const named: Place = { direction: place.direction, name, path: '', where }
  findings.push(...compared(context, old, now, named))
  return findings
}

function compared(context: Context, old: unknown, now: unknown, place: Place): Finding[] {
  const before = normalSchema(context.old, old)
  const after = normalSchema(context.now, now)
  const both = (type: string) => [before, after].every((one) => typesOf(one).includes(type))
  return [
    ...valueShifts(before, after).map((one) => shifted(place, one)),
    ...(both('object') ? members(context, before, after, place) : []),
    ...(both('array') ? items(context, before, after, place) : []),
    ...forms(context, before, after, place),
    ...defaults(before, after, place),
    ...unjudged(before, after, place),
  ]
}

function items(context: Context, before: Node, after: Node, place: Place): Finding[] {
  return compare(context, before.items ?? {}, after.items ?? {}, inside(place, '[]', 'items'))
}

/** What one side never sees: the id in a request, a password in an answer. */
const hidden: Readonly<Record<Direction, string>> = { request: 'readOnly', response: 'writeOnly' }

const membersOf = (document: Node, schema: Node, direction: Direction): Map<string, unknown> =>
  new Map(
    Object.entries(nodeOf(schema.properties)).filter(
      ([, member]) => normalSchema(document, member)[hidden[direction]] !== true,
    ),
  )

const isClosed = (schema: Node): boolean =>
  schema.additionalProperties === false || schema.unevaluatedProperties === false

function members(context: Context, before: Node, after: Node, place: Place): Finding[] {
  const { direction } = place
  const olds = membersOf(context.old, before, direction)
  const news = membersOf(context.now, after, direction)
  const at = (name: string) => inside(place, name, `properties/${segment(name)}`)
  const must = (schema: Node, name: string) => listOf(schema.required).includes(name)
  const findings: Finding[] = []
  for (const [name, old] of olds) {
    if (!news.has(name)) {
      findings.push(gone(at(name)))
      continue
    }
    const [did, does] = [must(before, name), must(after, name)]
    if (did !== does) findings.push(requirement(at(name), does))
    findings.push(...compare(context, old, news.get(name), at(name)))
  }
  for (const name of news.keys()) {
    if (!olds.has(name)) findings.push(fresh(at(name), must(after, name), isClosed(before)))
  }
  return [...findings, ...further(context, before, after, place)]
}

const gone = (place: Place): Finding => {
  const what = subject(place)
  return place.direction === 'request'
    ? broken(place.where, `${what} is not taken any more: callers that send it are refused.`)
    : broken(place.where, `${what} is gone from answers: callers that read it find nothing.`)
}

function requirement(place: Place, required: boolean): Finding {
  const what = subject(place)
  if (place.direction === 'request') {
    return required
      ? broken(place.where, `${what} must be sent now: callers that leave it out are refused.`)
      : added(place.where, `${what} may be left out now.`)
  }
  return required
    ? added(place.where, `${what} is in every answer now.`)
    : broken(place.where, `${what} may be missing from answers now: callers count on it.`)
}

function fresh(place: Place, required: boolean, closed: boolean): Finding {
  const what = subject(place)
  if (place.direction === 'request') {
    return required
      ? broken(place.where, `${what} is new and must be sent: callers of before do not send it.`)
      : added(place.where, `${what} is new and may be sent.`)
  }
  return closed
    ? broken(place.where, `${what} is new in answers that were promised to hold nothing more.`)
    : added(place.where, `${what} is new in answers.`)
}

/** Members beyond the named ones. */
function further(context: Context, before: Node, after: Node, place: Place): Finding[] {
  const there = inside(place, '*', 'additionalProperties')
  if (isClosed(before) !== isClosed(after)) {
    const kind = isClosed(after) ? 'lost' : 'gained'
    return [shifted(place, { kind, words: 'an object with members that are not named' })]
  }
  const [old, now] = [before.additionalProperties ?? true, after.additionalProperties ?? true]
  return compare(context, old, now, there)
}

interface Form {
  readonly schema: unknown
  /** By what callers know it: its title, or the component it is. */
  readonly name: string | undefined
}

const formsOf = (schema: Node): Form[] =>
  listOf(schema.oneOf ?? schema.anyOf).map((one) => ({
    schema: one,
    name: (nodeOf(one).title as string | undefined) ?? componentOf(one),
  }))

function forms(context: Context, before: Node, after: Node, place: Place): Finding[] {
  const [olds, news] = [formsOf(before), formsOf(after)]
  if (olds.length === 0 && news.length === 0) return []
  const word = after.oneOf ? 'oneOf' : 'anyOf'
  const at = (n: number) => ({ ...place, where: `${place.where}/${word}/${n}` })
  // Where one side has a single form, that form is the schema itself.
  if (olds.length === 0) olds.push({ schema: withoutForms(before), name: undefined })
  if (news.length === 0) news.push({ schema: withoutForms(after), name: undefined })
  const equal = (old: Form, now: Form, n: number) =>
    compare(context, old.schema, now.schema, at(n)).length === 0
  const pairs = new Map<Form, Form>()
  const taken = (now: Form) => [...pairs.values()].includes(now)
  const pair = (fits: (old: Form, now: Form, n: number) => boolean) => {
    for (const old of olds.filter((one) => !pairs.has(one))) {
      const found = news.find((now, n) => !taken(now) && fits(old, now, n))
      if (found) pairs.set(old, found)
    }
  }
  pair((old, now) => old.name !== undefined && old.name === now.name)
  pair((old, now, n) => (old.name === undefined || now.name === undefined) && equal(old, now, n))
  if (olds.length === news.length) {
    pair((old, now, n) => old.name === undefined && now.name === undefined && olds[n] === old)
  }
  const title = (form: Form) => (form.name ? `the form "${form.name}"` : 'a form it had')
  return [
    ...[...pairs].flatMap(([old, now]) =>
      compare(context, old.schema, now.schema, titled(at(news.indexOf(now)), now)),
    ),
    ...olds.filter((old) => !pairs.has(old)).map((old) => formGone(place, title(old))),
    ...news
      .filter((now) => !taken(now))
      .map((now) => formNew(place, now.name ?? 'a further one', before['x-open-set'] === true)),
  ]
}

const titled = (place: Place, { name }: Form): Place =>
  name === undefined ? place : { ...place, name: `${place.name} (${name})` }

const withoutForms = ({ oneOf: _one, anyOf: _any, ...schema }: Node): Node => schema

/** Which of the forms comes may be the caller's choice: a list's style is. */
const formGone = (place: Place, form: string): Finding =>
  broken(place.where, `${subject(place)} has no more ${form}: callers that use it break.`)

const formNew = (place: Place, form: string, open: boolean): Finding =>
  place.direction === 'request' || open
    ? added(place.where, `${subject(place)} has a new form: ${form}.`)
    : broken(place.where, `${subject(place)} can now have a form nobody was told of: ${form}.`)

/** What is taken where a caller leaves it out. */
function defaults(before: Node, after: Node, place: Place): Finding[] {
  if (place.direction === 'response' || isEqual(before.default, after.default)) return []
  if (before.default === undefined) return []
  const [old, now] = [before.default, after.default].map((one) => JSON.stringify(one) ?? 'nothing')
  const sentence = `Where ${subject(place)} is left out, ${now} is taken instead of ${old}.`
  return [broken(`${place.where}/default`, sentence)]
}

/** Rare words of JSON Schema: any change of them is taken for a break. */
const rare = [
  ...['patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas', 'if', 'then'],
  ...['else', 'not', 'contains', 'minContains', 'maxContains', 'prefixItems', 'unevaluatedItems'],
  ...['contentEncoding', 'contentMediaType', 'contentSchema', 'discriminator', '$dynamicRef'],
]

const unjudged = (before: Node, after: Node, place: Place): Finding[] =>
  rare
    .filter((word) => !isEqual(before[word], after[word]))
    .map((word) =>
      broken(
        `${place.where}/${word}`,
        `"${word}" of ${subject(place)} changed, which is taken for a break.`,
      ),
    )
