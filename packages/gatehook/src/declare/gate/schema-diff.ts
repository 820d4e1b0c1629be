/**
 * Compares two schemas of the JSON Schema subset that `declare/resources/openapi.ts` generates. A
 * component is compared once for each direction, however many operations use it. `value-diff.ts`
 * compares types, enumerations and bounds. Pure.
 */

import { TEXT_KIND } from '../../protocol/fields/json-schema.ts'
import { escapePointer } from '../../protocol/fields/reading.ts'
import { READ_SCOPE, SCOPED_DEFAULT, UNIT, WRITE_SCOPE } from '../../protocol/fields/schema.ts'
import { componentName, isEqual, listOf, type Node, nodeOf, resolveRef } from './document.ts'
import {
  additionFinding,
  breakFinding,
  type Finding,
  locationInside,
  type SchemaLocation,
  subjectOf,
  valueFinding,
} from './finding.ts'
import { typesOf, valueChanges } from './value-diff.ts'

/** Compares two schemas of the documents. Returns the same objects for the same components. */
export type CompareSchemas = (
  old: unknown,
  now: unknown,
  location: SchemaLocation,
) => readonly Finding[]

export function schemaComparison(oldDocument: Node, newDocument: Node): CompareSchemas {
  const findingsByComponents = new Map<string, Finding[]>()

  const compareSchemas: CompareSchemas = (old, now, location) => {
    const { direction, name: context, path } = location
    const name = componentName(now)
    if (name === undefined) return compareResolved(old, now, location)
    const key = `${direction} ${componentName(old) ?? `${context} ${path}`} ${name}`
    const cachedFindings = findingsByComponents.get(key)
    if (cachedFindings) return cachedFindings
    const findings: Finding[] = []
    findingsByComponents.set(key, findings) // ends the recursion of a schema that contains itself
    const where = `#/components/schemas/${name}`
    findings.push(...compareResolved(old, now, { direction, name, path: '', where }))
    return findings
  }

  const compareResolved: CompareSchemas = (old, now, location) => {
    const before = resolveRef(oldDocument, old)
    const after = resolveRef(newDocument, now)
    if (isUnconstrained(before) && isUnconstrained(after)) return []
    const form = formBefore(before, after)
    if (form) {
      const sentence = `${subjectOf(location)} has further forms, which callers request.`
      return [additionFinding(location.where, sentence), ...compareResolved(old, form, location)]
    }
    const bothAllow = (type: string) =>
      typesOf(before).includes(type) && typesOf(after).includes(type)
    return [
      ...valueChanges(before, after).map((change) =>
        valueFinding(location, change, [before, after]),
      ),
      ...(bothAllow('object') ? memberFindings(compareSchemas, before, after, location) : []),
      ...(bothAllow('array')
        ? compareSchemas(before.items, after.items, locationInside(location, '[]', 'items'))
        : []),
      ...formFindings(compareSchemas, before, after, location),
      ...defaultFindings(before, after, location),
      ...scopeFindings(before, after, location),
      ...unitFindings(before, after, location),
      ...keywordFindings(before, after, location),
    ]
  }
  return compareSchemas
}

/** Returns the form of a value that has others only if callers request them (`expand`). */
const formBefore = (before: Node, after: Node): unknown =>
  before.oneOf === undefined && after['x-open-set'] === true ? listOf(after.oneOf)[0] : undefined

const isUnconstrained = (schema: Node): boolean => Object.keys(schema).length === 0

function memberFindings(
  compareSchemas: CompareSchemas,
  before: Node,
  after: Node,
  location: SchemaLocation,
): Finding[] {
  const [oldMembers, newMembers] = [nodeOf(before.properties), nodeOf(after.properties)]
  const findings: Finding[] = []
  for (const name of Object.keys({ ...oldMembers, ...newMembers })) {
    const member = locationInside(location, name, `properties/${escapePointer(name)}`)
    const isRequired = listOf(after.required).includes(name)
    if (!Object.hasOwn(newMembers, name))
      findings.push(removedMemberFinding(member, oldMembers[name]))
    else if (!Object.hasOwn(oldMembers, name)) {
      findings.push(newMemberFinding(member, isRequired, newMembers[name]))
    } else {
      if (listOf(before.required).includes(name) !== isRequired) {
        findings.push(requirementFinding(member, isRequired))
      }
      findings.push(...compareSchemas(oldMembers[name], newMembers[name], member))
    }
  }
  const isClosed = after.additionalProperties === false
  if ((before.additionalProperties === false) !== isClosed) {
    const values = 'an object with additional members'
    const parts = [before.additionalProperties ?? true, after.additionalProperties ?? true] as const
    const change = { kind: isClosed ? 'lost' : 'gained', values } as const
    return [...findings, valueFinding(location, change, parts)]
  }
  const additional = locationInside(location, '*', 'additionalProperties')
  const { additionalProperties: old } = before
  return [...findings, ...compareSchemas(old, after.additionalProperties, additional)]
}

const removedMemberFinding = (location: SchemaLocation, schema: unknown): Finding =>
  breakFinding(
    location.where,
    location.direction === 'request'
      ? `${subjectOf(location)} is no longer accepted: callers that send it are rejected.`
      : `${subjectOf(location)} is removed from responses: callers that read it find no value.`,
    [schema, undefined],
  )

function newMemberFinding(location: SchemaLocation, isRequired: boolean, schema: unknown): Finding {
  const { direction, where } = location
  const subject = subjectOf(location)
  if (direction === 'response') return additionFinding(where, `${subject} is new in responses.`)
  return isRequired
    ? breakFinding(where, `${subject} is new and required: existing callers do not send it.`, [
        undefined,
        schema,
      ])
    : additionFinding(where, `${subject} is new and optional.`)
}

function requirementFinding(location: SchemaLocation, isRequired: boolean): Finding {
  const { direction, where } = location
  const subject = subjectOf(location)
  if (direction === 'request') {
    return isRequired
      ? breakFinding(where, `${subject} is now required: callers that omit it are rejected.`, [
          'optional',
          'required',
        ])
      : additionFinding(where, `${subject} is now optional.`)
  }
  return isRequired
    ? additionFinding(where, `${subject} is now in every response.`)
    : breakFinding(where, `${subject} may now be absent from responses: callers rely on it.`, [
        'required',
        'optional',
      ])
}

/** The alternatives of `oneOf`, which their titles identify: the envelopes of a list (§7.2). */
function formFindings(
  compareSchemas: CompareSchemas,
  before: Node,
  after: Node,
  location: SchemaLocation,
): Finding[] {
  const formsByTitle = (schema: Node) =>
    new Map(listOf(schema.oneOf).map((form) => [String(nodeOf(form).title), form]))
  const [oldForms, newForms] = [formsByTitle(before), formsByTitle(after)]
  const { where } = location
  const subject = subjectOf(location)
  const findings: Finding[] = []
  for (const title of new Map([...oldForms, ...newForms]).keys()) {
    if (!newForms.has(title)) {
      const sentence = `${subject} no longer has the form "${title}": callers that use it break.`
      findings.push(breakFinding(where, sentence, [oldForms.get(title), undefined]))
    } else if (!oldForms.has(title)) {
      const sentence = `${subject} has the new form "${title}".`
      findings.push(
        before['x-open-set'] === true
          ? additionFinding(where, sentence)
          : breakFinding(where, sentence, [undefined, newForms.get(title)]),
      )
    } else if (!isExpandedRow(after, newForms.get(title), oldForms.get(title))) {
      const form = { ...location, name: `${location.name} (${title})`, where: `${where}/oneOf` }
      findings.push(...compareSchemas(oldForms.get(title), newForms.get(title), form))
    }
  }
  return findings
}

/**
 * Whether a form is a row that callers request with `expand`. Its component has operations of its
 * own, whose callers a change affects; those of the referring row may never request it.
 */
const isExpandedRow = (schema: Node, form: unknown, oldForm: unknown): boolean =>
  schema['x-open-set'] === true &&
  componentName(form) !== undefined &&
  componentName(form) === componentName(oldForm)

/** Returns the value of an omitted member of a request. */
const defaultOf = (schema: Node): unknown =>
  'default' in schema ? schema.default : schema[SCOPED_DEFAULT]

function defaultFindings(before: Node, after: Node, location: SchemaLocation): Finding[] {
  const defaults = [before, after].map(defaultOf)
  if (location.direction === 'response' || defaults[0] === undefined) return []
  if (isEqual(...(defaults as [unknown, unknown]))) return []
  const [old, now] = defaults.map((value) => JSON.stringify(value))
  const sentence = `The default of ${subjectOf(location)} is ${now ?? 'removed'} instead of ${old}.`
  return [breakFinding(`${location.where}/default`, sentence, [old, now])]
}

/**
 * The scopes of single fields. A field that now needs a scope in responses may be absent from
 * them, which `requirementFinding` reports.
 */
function scopeFindings(before: Node, after: Node, location: SchemaLocation): Finding[] {
  const findings: Finding[] = []
  const subject = subjectOf(location)
  const [oldRead, newRead] = [before[READ_SCOPE], after[READ_SCOPE]]
  if (oldRead !== undefined && newRead !== undefined && oldRead !== newRead) {
    const sentence = `${subject} needs the scope ${newRead} instead of ${oldRead} in responses.`
    findings.push(breakFinding(`${location.where}/${READ_SCOPE}`, sentence, [oldRead, newRead]))
  }
  const [oldWrite, newWrite] = [before[WRITE_SCOPE], after[WRITE_SCOPE]]
  if (oldWrite === newWrite) return findings
  const where = `${location.where}/${WRITE_SCOPE}`
  const finding =
    newWrite === undefined
      ? additionFinding(where, `${subject} no longer needs the scope ${oldWrite}.`)
      : breakFinding(where, `${subject} now needs the scope ${newWrite}: others are rejected.`, [
          oldWrite,
          newWrite,
        ])
  return [...findings, finding]
}

/** Another unit gives the same number another meaning. A unit that is new only describes it. */
function unitFindings(before: Node, after: Node, location: SchemaLocation): Finding[] {
  const [old, now] = [before[UNIT], after[UNIT]]
  if (old === undefined || now === undefined || old === now) return []
  const sentence = `${subjectOf(location)} has the unit ${now} instead of ${old}.`
  return [breakFinding(`${location.where}/${UNIT}`, sentence, [old, now])]
}

/** The keywords that the functions above compare, and annotations. */
const COMPARED_KEYWORDS: ReadonlySet<string> = new Set(
  [
    'type enum format minimum maximum minLength maxLength minItems maxItems',
    'properties required additionalProperties items oneOf default',
    `$ref title description examples readOnly writeOnly x-open-set ${UNIT} ${TEXT_KIND}`,
    `${READ_SCOPE} ${WRITE_SCOPE} ${SCOPED_DEFAULT}`,
  ].flatMap((words) => words.split(' ')),
)

/** A change of any other keyword counts as a break. */
function keywordFindings(before: Node, after: Node, location: SchemaLocation): Finding[] {
  // A pattern that only one of them applies to is a part of the change of the type.
  const allowText = [before, after].every((schema) => typesOf(schema).includes('string'))
  return Object.keys({ ...before, ...after })
    .filter((word) => !COMPARED_KEYWORDS.has(word) && !isEqual(before[word], after[word]))
    .filter((word) => word !== 'pattern' || allowText)
    .map((word) => {
      const subject = `The keyword "${word}" of ${subjectOf(location)}`
      return breakFinding(`${location.where}/${word}`, `${subject} changed, which is a break.`, [
        before[word],
        after[word],
      ])
    })
}
