/** What an operation carries: parameters, bodies, answers, their headers and media types. Pure. */
import { isEqual, type Node, nodeOf, type Operation, resolved } from './document.ts'
import { added, broken, type Finding, type Place, segment, subject } from './finding.ts'
import type { CompareSchemas } from './schemas.ts'

/** Headers that are not parameters, whatever a document says (OpenAPI 3.1, §4.8.12.2). */
const noParameters = ['accept', 'content-type', 'authorization']

function parametersOf({ parameters, inPath }: Operation): Map<string, Node> {
  return new Map(
    parameters.flatMap((one): [string, Node][] => {
      const name = String(one.name)
      if (one.in === 'path') return [[`path ${inPath.indexOf(name)}`, one]]
      if (one.in !== 'header') return [[`${one.in} ${name}`, one]]
      const lower = name.toLowerCase()
      return noParameters.includes(lower) ? [] : [[`header ${lower}`, one]]
    }),
  )
}

export function parameterFindings(
  schemas: CompareSchemas,
  old: Operation,
  now: Operation,
): Finding[] {
  const [before, after] = [parametersOf(old), parametersOf(now)]
  const at = (name: unknown) => `${now.where}/parameters/${segment(String(name))}`
  const findings: Finding[] = []
  for (const [key, one] of before) {
    const other = after.get(key)
    const what = `the ${one.in} parameter "${one.name}" of ${now.name}`
    if (!other) {
      findings.push(broken(at(one.name), `${what} is gone: calls that send it are refused.`))
      continue
    }
    if (one.in !== 'path' && Boolean(one.required) !== Boolean(other.required)) {
      findings.push(
        other.required
          ? broken(at(one.name), `${what} must be sent now: calls without it are refused.`)
          : added(at(one.name), `${what} may be left out now.`),
      )
    }
    if (!isEqual(writing(one), writing(other))) {
      findings.push(broken(at(one.name), `${what} is written in another way now.`))
    }
    const place: Place = { direction: 'request', name: what, path: '', where: at(one.name) }
    findings.push(...schemas(schemaOf(one), schemaOf(other), place))
  }
  for (const [key, one] of after) {
    if (before.has(key)) continue
    const what = `the ${one.in} parameter "${one.name}" of ${now.name} is new`
    findings.push(
      one.required
        ? broken(at(one.name), `${what} and must be sent: calls of before do not send it.`)
        : added(at(one.name), `${what} and may be sent.`),
    )
  }
  return findings
}

/** `?sort=a,b` and `?sort=a&sort=b` are two ways to write one list. */
function writing(parameter: Node): unknown {
  const style = parameter.style ?? (/query|cookie/.test(String(parameter.in)) ? 'form' : 'simple')
  const explode = parameter.explode ?? style === 'form'
  const media = Object.keys(nodeOf(parameter.content))
  return [style, explode, parameter.allowReserved ?? false, media]
}

const schemaOf = (parameter: Node): unknown =>
  parameter.schema ?? nodeOf(Object.values(nodeOf(parameter.content))[0]).schema ?? {}

/** A webhook's body is what we send. */
const isWebhook = ({ where }: Operation): boolean => where.startsWith('#/webhooks/')

const bodyOf = ({ document, node }: Operation): Node | undefined =>
  node.requestBody === undefined ? undefined : resolved(document, node.requestBody)

export function bodyFindings(schemas: CompareSchemas, old: Operation, now: Operation): Finding[] {
  const [before, after] = [bodyOf(old), bodyOf(now)]
  const where = `${now.where}/requestBody`
  if (!before) {
    if (!after) return []
    return [
      after.required
        ? broken(where, `${now.name} needs a body now: calls of before send none.`)
        : added(where, `${now.name} may have a body now.`),
    ]
  }
  if (!after) return [broken(where, `${now.name} takes no body any more.`)]
  const findings: Finding[] = []
  if (Boolean(before.required) !== Boolean(after.required)) {
    findings.push(
      after.required
        ? broken(where, `The body of ${now.name} must be sent now.`)
        : added(where, `The body of ${now.name} may be left out now.`),
    )
  }
  const direction = isWebhook(now) ? 'response' : 'request'
  const place: Place = { direction, name: `the body of ${now.name}`, path: '', where }
  return [...findings, ...mediaFindings(schemas, before.content, after.content, place)]
}

export function responseFindings(
  schemas: CompareSchemas,
  old: Operation,
  now: Operation,
): Finding[] {
  const [before, after] = [nodeOf(old.node.responses), nodeOf(now.node.responses)]
  const findings: Finding[] = []
  for (const [status, value] of Object.entries(before)) {
    const where = `${now.where}/responses/${status}`
    if (Object.hasOwn(after, status)) {
      const [one, other] = [resolved(old.document, value), resolved(now.document, after[status])]
      const name = `the answer ${status} of ${now.name}`
      const place: Place = { direction: 'response', name, path: '', where }
      findings.push(...headerFindings(schemas, old, now, { one, other }, place))
      findings.push(...mediaFindings(schemas, one.content, other.content, place))
    } else if (isSuccess(status)) {
      findings.push(broken(where, `${now.name} never answers ${status} any more.`))
    } else findings.push(added(where, `${now.name} never answers ${status} any more.`))
  }
  for (const status of Object.keys(after)) {
    if (Object.hasOwn(before, status)) continue
    const where = `${now.where}/responses/${status}`
    const told = `${now.name} can answer ${status} now`
    findings.push(
      isSuccess(status)
        ? broken(where, `${told}: callers take it for something else.`)
        : added(where, `${told}.`),
    )
  }
  return findings
}

/** 304 comes only to those who ask for it. */
const isSuccess = (status: string): boolean => /^[23]/.test(status) && status !== '304'

function headerFindings(
  schemas: CompareSchemas,
  old: Operation,
  now: Operation,
  { one, other }: { readonly one: Node; readonly other: Node },
  place: Place,
): Finding[] {
  const named = (document: Node, headers: unknown) =>
    new Map(
      Object.entries(nodeOf(headers)).map(([name, header]) => [
        name.toLowerCase(),
        resolved(document, header),
      ]),
    )
  const [before, after] = [named(old.document, one.headers), named(now.document, other.headers)]
  const findings: Finding[] = []
  for (const [name, header] of before) {
    const where = `${place.where}/headers/${segment(name)}`
    const what = `the header "${name}" of ${place.name}`
    const there = after.get(name)
    if (!there) findings.push(broken(where, `${what} is gone.`))
    else {
      if (header.required === true && there.required !== true) {
        findings.push(broken(where, `${what} may be missing now.`))
      }
      const at: Place = { direction: 'response', name: what, path: '', where }
      findings.push(...schemas(header.schema ?? {}, there.schema ?? {}, at))
    }
  }
  for (const name of after.keys()) {
    if (before.has(name)) continue
    const where = `${place.where}/headers/${segment(name)}`
    findings.push(added(where, `${place.name} has a new header "${name}".`))
  }
  return findings
}

function mediaFindings(
  schemas: CompareSchemas,
  old: unknown,
  now: unknown,
  place: Place,
): Finding[] {
  const [before, after] = [nodeOf(old), nodeOf(now)]
  const findings: Finding[] = []
  const verb = place.direction === 'request' ? 'taken' : 'answered'
  for (const [type, value] of Object.entries(before)) {
    const where = `${place.where}/content/${segment(type)}`
    if (!Object.hasOwn(after, type)) {
      findings.push(broken(where, `${subject(place)} as ${type} is not ${verb} any more.`))
      continue
    }
    const at = { ...place, where: `${where}/schema` }
    findings.push(...schemas(nodeOf(value).schema ?? {}, nodeOf(after[type]).schema ?? {}, at))
  }
  for (const type of Object.keys(after)) {
    if (Object.hasOwn(before, type)) continue
    const where = `${place.where}/content/${segment(type)}`
    findings.push(added(where, `${subject(place)} is ${verb} as ${type} too.`))
  }
  return findings
}
