/** The section of one operation: words, parameters, failures, examples, form. Pure. */

import { callerAdvice } from '../../kernel/caller-advice.ts'
import type { FailureCode } from '../../kernel/failure.ts'
import { isJsonType } from '../../protocol/http/content-negotiation.ts'
import { codeExamples, type ExampleRequest, isTokenPath } from './code-examples.ts'
import {
  type ContentBlock,
  code,
  pretty,
  type Section,
  softText,
  type Term,
  type TrialForm,
  table,
  text,
} from './content.ts'
import {
  nodeOf,
  type OpenApiNode,
  type OperationView,
  type ParameterView,
  typeWords,
  valueWords,
} from './openapi-reader.ts'

/** Returns the anchor of an operation: `create-order`. */
export const anchorOf = ({ id }: OperationView): string => id.replaceAll('_', '-')

/** Shows which of the five list styles a parameter belongs to on a page of its own. */
const LIST_PARAMETERS = ['pagination', 'cursor', 'offset', 'after_id', 'page', 'per_page']
const HEADERS_OF_EVERY_REQUEST = ['Idempotency-Key', 'If-Match', 'If-None-Match']

export function operationSection(operation: OperationView, base: string): Section {
  const request = exampleRequest(operation)
  const { status, answer } = operation
  const aside: ContentBlock[] = [
    { kind: 'examples', title: operation.summary, variants: codeExamples(base, request) },
  ]
  if (answer !== undefined) aside.push(code(`${status} Response`, pretty(answer)))
  else aside.push(softText(`The response is ${status} without a body.`))
  const isStream = operation.path.endsWith('/stream')
  return {
    id: anchorOf(operation),
    title: operation.summary,
    call: { method: operation.method, path: operation.path },
    blocks: [
      ...descriptionBlocks(operation),
      needs(operation),
      ...parameterBlocks(operation),
      ...errorBlocks(operation),
    ],
    aside,
    // The form sends a key.
    ...(!isStream &&
      !isTokenPath(operation.path) && { trial: trialForm(operation, base, request) }),
  }
}

const scopeSentence = (scope: string): string => `Needs the scope \`${scope}\`.`

/** Returns the description without its last sentence on the scope, which `needs` has. */
function descriptionBlocks({ description, scope }: OperationView): ContentBlock[] {
  const sentence = scope && scopeSentence(scope)
  const words =
    sentence && description.endsWith(sentence)
      ? description.slice(0, -sentence.length).trimEnd()
      : description
  return words === '' ? [] : [text(words)]
}

const CREDENTIAL_WORDS: Readonly<Record<OperationView['credential'], string>> = {
  key: 'Needs a credential.',
  token: 'Needs the access token of a person.',
  none: 'Needs no credential.',
}

function needs({ scope, parameters, credential }: OperationView): ContentBlock {
  const scopeWords = scope ? scopeSentence(scope) : CREDENTIAL_WORDS[credential]
  const names = parameters.map(({ name }) => name)
  const headers = HEADERS_OF_EVERY_REQUEST.filter((name) => names.includes(name))
  const headerWords =
    headers.length > 0
      ? ` Accepts ${headers.map((name) => `\`${name}\``).join(' and ')}: see [Repeats](repeats).`
      : ''
  return softText(scopeWords + headerWords)
}

function parameterBlocks(operation: OperationView): ContentBlock[] {
  const { parameters, body } = operation
  const own = parameters.filter(
    ({ name }) => !LIST_PARAMETERS.includes(name) && !HEADERS_OF_EVERY_REQUEST.includes(name),
  )
  const isList = parameters.some(({ name }) => name === 'cursor')
  const items = [...own.map(parameterTerm), ...bodyTerms(body?.schema)]
  const blocks: ContentBlock[] = []
  if (items.length > 0) {
    blocks.push({ kind: 'terms', label: `Parameters: ${operation.summary}`, items })
  }
  if (isList) {
    blocks.push(softText('Every list has the parameters of [its style](lists), and operators.'))
  }
  return blocks
}

function parameterTerm(parameter: ParameterView): Term {
  const { name, place, isRequired, description, schema, operators } = parameter
  const values = valueWords(schema)
  const forms = operators.map((form) => `\`${form}\``).join(', ')
  return {
    name,
    note: [place, typeWords(schema), isRequired && place !== 'path' && 'required']
      .filter((word) => typeof word === 'string' && word !== '')
      .join(', '),
    text: [description, values && `Values: ${values}.`, forms && `Also as ${forms}.`]
      .filter(Boolean)
      .join(' '),
  }
}

/** Returns the members of a body, and those inside them: `address.city`, `items[].sku`. */
function bodyTerms(schema: OpenApiNode | undefined, parent = ''): Term[] {
  const required = (schema?.required ?? []) as readonly string[]
  return Object.entries(nodeOf(schema?.properties)).flatMap(([own, value]) => {
    const name = parent + own
    const member = nodeOf(value)
    const values = valueWords(member)
    const state = required.includes(own) ? 'required' : 'optional'
    const term = {
      name,
      note: ['body', typeWords(member), state].filter((word) => word !== '').join(', '),
      text: [member.description, values && `Values: ${values}.`].filter(Boolean).join(' '),
    }
    const items = nodeOf(member.items)
    const inside = [
      ...bodyTerms(member, `${name}.`),
      ...bodyTerms(items, `${name}[].`),
      ...bodyTerms(nodeOf(items.items), `${name}[][].`),
    ]
    return [term, ...inside]
  })
}

function errorBlocks({ errors, id }: OperationView): ContentBlock[] {
  if (errors.length === 0) return []
  const rows = errors.map(({ code, status, message }) => {
    const advice = callerAdvice[code as FailureCode] ?? `See [\`${code}\`](errors#${code}).`
    return [`\`${status}\``, `[\`${code}\`](errors#${code})`, message, advice]
  })
  const label = 'Failures'
  return [
    { kind: 'heading', id: `${id.replaceAll('_', '-')}-failures`, text: label },
    table(label, ['Status', 'Code', 'Reason', 'Remedy'], rows),
    softText('Besides, the [failures of every request](errors).'),
  ]
}

/** Returns the request of the examples: required parameters, and for a list a sort and a limit. */
function exampleRequest(operation: OperationView): ExampleRequest {
  const { method, path, parameters, body } = operation
  const names = new Set(parameters.map(({ name }) => name))
  const isForm = body?.mediaType === 'application/x-www-form-urlencoded'
  const isFile = body !== undefined && !isForm && !isJsonType(body.mediaType)
  return {
    method,
    path: parameters
      .filter(({ place }) => place === 'path')
      .reduce((at, { name, example }) => at.replace(`{${name}}`, String(example)), path),
    query: exampleQuery(operation),
    headers: isFile ? [['Content-Type', body.mediaType]] : [],
    body: isFile ? undefined : body?.example,
    collection: new RegExp(`^/api/v\\d+/${operation.tag}(/|$)`).test(path)
      ? operation.tag
      : undefined,
    isRepeatable: names.has('Idempotency-Key'),
    credential: operation.credential,
    hasAnswer: operation.answer !== undefined,
    isForm,
    isFile,
  }
}

function exampleQuery({ parameters }: OperationView): [string, string][] {
  const inQuery = parameters.filter(({ place }) => place === 'query')
  const query: [string, string][] = inQuery
    .filter(({ isRequired }) => isRequired)
    .map(({ name, example }) => [name, String(example)])
  const sorts = nodeOf(inQuery.find(({ name }) => name === 'sort')?.schema.items).enum
  const last = ((sorts ?? []) as readonly string[]).findLast((name) => name.startsWith('-'))
  if (last !== undefined) query.push(['sort', last])
  if (inQuery.some(({ name }) => name === 'limit')) query.push(['limit', '2'])
  return query
}

function trialForm(operation: OperationView, base: string, request: ExampleRequest): TrialForm {
  const values = new Map(request.query)
  const fields = operation.parameters
    .filter(({ name }) => name !== 'If-None-Match')
    .map(({ name, place, example }) => ({
      name,
      place,
      value: place === 'path' ? String(example) : (values.get(name) ?? ''),
    }))
  return {
    method: operation.method,
    path: operation.path,
    fields,
    body: request.body === undefined ? undefined : pretty(request.body),
    scope: operation.scope,
    example: JSON.stringify({ base, request }),
  }
}
