/** Compares the parameters, bodies and responses of one operation. Pure. */
import { escapePointer } from '../../protocol/fields/reading.ts'
import { EXPORTS } from '../../protocol/openapi/list-extensions.ts'
import {
  type DocumentOperation,
  isEqual,
  listOf,
  type Node,
  nodeOf,
  resolveRef,
} from './document.ts'
import {
  additionFinding,
  breakFinding,
  type Finding,
  type SchemaLocation,
  subjectOf,
} from './finding.ts'
import type { CompareSchemas } from './schema-diff.ts'

const REQUIREMENT = ['optional', 'required'] as const

/** Path parameters have their position as key: their names may change. */
const parametersByKey = ({ parameters, pathNames }: DocumentOperation): Map<string, Node> =>
  new Map(
    parameters.map((parameter) => {
      const name = String(parameter.name)
      const key = parameter.in === 'path' ? pathNames.indexOf(name) : name
      return [`${parameter.in} ${key}`, parameter]
    }),
  )

/** Whether `amount[gte]` is removed or new together with `amount`, whose finding is enough. */
function followsFilter(
  parameter: string,
  before: ReadonlyMap<string, Node>,
  after: ReadonlyMap<string, Node>,
): boolean {
  const [, name] = /^(\w+)\[\w+\]$/.exec(parameter) ?? []
  return name !== undefined && before.has(`query ${name}`) !== after.has(`query ${name}`)
}

/** The media types of exports, which the operation lists beside its responses. */
export function exportFindings(old: DocumentOperation, now: DocumentOperation): Finding[] {
  const [before, after] = [listOf(old.node[EXPORTS]), listOf(now.node[EXPORTS])]
  const where = `${now.where}/${EXPORTS}`
  return [
    ...before
      .filter((type) => !after.includes(type))
      .map((type) =>
        breakFinding(where, `${now.name} no longer exports ${type}.`, [type, undefined]),
      ),
    ...after
      .filter((type) => !before.includes(type))
      .map((type) => additionFinding(where, `${now.name} now exports ${type}.`)),
  ]
}

/** `?sort=a,b` and `?sort=a&sort=b` are two serializations of one array. */
const serializationOf = ({ style = 'form', explode = true }: Node): unknown => [style, explode]

export function parameterFindings(
  compareSchemas: CompareSchemas,
  old: DocumentOperation,
  now: DocumentOperation,
): Finding[] {
  const [before, after] = [parametersByKey(old), parametersByKey(now)]
  const findings: Finding[] = []
  for (const [key, parameter] of new Map([...before, ...after])) {
    if (followsFilter(String(parameter.name), before, after)) continue
    const where = `${now.where}/parameters/${escapePointer(String(parameter.name))}`
    const subject = `the ${parameter.in} parameter "${parameter.name}" of ${now.name}`
    const [earlier, later] = [before.get(key), after.get(key)]
    if (!later) {
      const sentence = `${subject} is removed: requests that send it are rejected.`
      findings.push(breakFinding(where, sentence, [earlier?.schema, undefined]))
    } else if (!earlier) {
      findings.push(
        later.required
          ? breakFinding(
              where,
              `${subject} is new and required: existing callers do not send it.`,
              [undefined, later.schema],
            )
          : additionFinding(where, `${subject} is new and optional.`),
      )
    } else {
      if (Boolean(earlier.required) !== Boolean(later.required)) {
        findings.push(
          later.required
            ? breakFinding(
                where,
                `${subject} is now required: requests without it are rejected.`,
                REQUIREMENT,
              )
            : additionFinding(where, `${subject} is now optional.`),
        )
      }
      if (!isEqual(serializationOf(earlier), serializationOf(later))) {
        findings.push(
          breakFinding(where, `${subject} has a new serialization.`, [
            serializationOf(earlier),
            serializationOf(later),
          ]),
        )
      }
      const location: SchemaLocation = { direction: 'request', name: subject, path: '', where }
      findings.push(...compareSchemas(earlier.schema, later.schema, location))
    }
  }
  return findings
}

export function bodyFindings(
  compareSchemas: CompareSchemas,
  old: DocumentOperation,
  now: DocumentOperation,
): Finding[] {
  const where = `${now.where}/requestBody`
  const { name } = now
  const [before, after] = [old.node.requestBody, now.node.requestBody].map(nodeOf) as [Node, Node]
  if (old.node.requestBody === undefined) {
    if (now.node.requestBody === undefined) return []
    return [
      after.required
        ? breakFinding(where, `${name} now requires a body: existing callers send none.`, [
            undefined,
            'a required body',
          ])
        : additionFinding(where, `${name} now accepts a body.`),
    ]
  }
  if (now.node.requestBody === undefined) {
    return [breakFinding(where, `${name} no longer accepts a body.`, ['a body', undefined])]
  }
  const findings: Finding[] = []
  if (before.required !== after.required) {
    findings.push(
      after.required
        ? breakFinding(where, `The body of ${name} is now required.`, REQUIREMENT)
        : additionFinding(where, `The body of ${name} is now optional.`),
    )
  }
  const location: SchemaLocation = {
    direction: 'request',
    name: `the body of ${name}`,
    path: '',
    where,
  }
  return [...findings, ...mediaTypeFindings(compareSchemas, before, after, location)]
}

export function responseFindings(
  compareSchemas: CompareSchemas,
  old: DocumentOperation,
  now: DocumentOperation,
): Finding[] {
  const [before, after] = [nodeOf(old.node.responses), nodeOf(now.node.responses)]
  const findings: Finding[] = []
  for (const status of Object.keys({ ...before, ...after })) {
    const where = `${now.where}/responses/${status}`
    if (!Object.hasOwn(after, status)) {
      const sentence = `${now.name} no longer returns ${status}.`
      findings.push(
        isSuccess(status)
          ? breakFinding(where, sentence, [status, undefined])
          : additionFinding(where, sentence),
      )
    } else if (!Object.hasOwn(before, status)) {
      const sentence = `${now.name} can now return ${status}`
      findings.push(
        isSuccess(status)
          ? breakFinding(where, `${sentence}, which existing callers do not expect.`, [
              Object.keys(before).join(', '),
              Object.keys(after).join(', '),
            ])
          : additionFinding(where, `${sentence}.`),
      )
    } else {
      const name = `the response ${status} of ${now.name}`
      const location: SchemaLocation = { direction: 'response', name, path: '', where }
      const earlier = resolveRef(old.document, before[status])
      const later = resolveRef(now.document, after[status])
      findings.push(
        ...mediaTypeFindings(compareSchemas, earlier, later, location),
        ...headerFindings(
          compareSchemas,
          headersOf(old.document, earlier),
          headersOf(now.document, later),
          location,
        ),
      )
    }
  }
  return findings
}

const headersOf = (document: Node, response: Node): ReadonlyMap<string, Node> =>
  new Map(
    Object.entries(nodeOf(response.headers)).map(([name, header]) => [
      name,
      resolveRef(document, header),
    ]),
  )

function headerFindings(
  compareSchemas: CompareSchemas,
  before: ReadonlyMap<string, Node>,
  after: ReadonlyMap<string, Node>,
  { name, direction, where: response }: SchemaLocation,
): Finding[] {
  return [...new Map([...before, ...after]).keys()].flatMap((header) => {
    const where = `${response}/headers/${escapePointer(header)}`
    const subject = `the header ${header} of ${name}`
    const [earlier, later] = [before.get(header), after.get(header)]
    if (!later) {
      const sentence = `${subject} is removed: callers that read it fail.`
      return [breakFinding(where, sentence, [earlier?.schema, undefined])]
    }
    if (!earlier) return [additionFinding(where, `${subject} is new.`)]
    const location = { direction, name: subject, path: '', where }
    return compareSchemas(earlier.schema, later.schema, location)
  })
}

/** The server returns 304 to conditional requests only. */
const isSuccess = (status: string): boolean => /^[23]/.test(status) && status !== '304'

function mediaTypeFindings(
  compareSchemas: CompareSchemas,
  old: Node,
  now: Node,
  location: SchemaLocation,
): Finding[] {
  const [before, after] = [nodeOf(old.content), nodeOf(now.content)]
  const verb = location.direction === 'request' ? 'accepted' : 'returned'
  return Object.keys({ ...before, ...after }).flatMap((type) => {
    const where = `${location.where}/content/${escapePointer(type)}`
    const subject = `${subjectOf(location)} is`
    if (!Object.hasOwn(after, type)) {
      return [breakFinding(where, `${subject} no longer ${verb} as ${type}.`, [type, undefined])]
    }
    if (!Object.hasOwn(before, type)) {
      return [additionFinding(where, `${subject} also ${verb} as ${type}.`)]
    }
    return compareSchemas(nodeOf(before[type]).schema, nodeOf(after[type]).schema, {
      ...location,
      where: `${where}/schema`,
    })
  })
}
