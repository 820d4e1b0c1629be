/**
 * The same request as a curl command, with gatehook-client in TypeScript, and with the standard
 * library of Python. The endpoints of tokens are called by `fetch`, because the client needs their
 * result. The key is in the variable `KEY` of the environment, an access token in `TOKEN`. Pure.
 */
import type { CodeVariant } from './content.ts'
import type { OperationView } from './openapi-reader.ts'

export interface ExampleRequest {
  readonly method: string
  /** With values for its parameters: `/api/v2/books/7/lend`. */
  readonly path: string
  readonly query: readonly (readonly [name: string, value: string])[]
  /** Headers that a reader has filled in. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: unknown
  /** The collection of the path; undefined for a path of another kind. */
  readonly collection: string | undefined
  /** Whether the example sends `Idempotency-Key`, a new one unless `headers` has it. */
  readonly isRepeatable: boolean
  readonly credential: OperationView['credential']
  /** Whether the response has JSON. */
  readonly hasAnswer: boolean
  /** Whether the body is a form (`application/x-www-form-urlencoded`). */
  readonly isForm: boolean
  /** Whether the body is the content of a file, whose type `headers` has. */
  readonly isFile?: boolean
}

/** Whether an endpoint issues or ends tokens. */
export const isTokenPath = (path: string): boolean => /^\/(auth|oauth)\//.test(path)

export const codeExamples = (base: string, request: ExampleRequest): CodeVariant[] => [
  { label: 'curl', text: curlExample(base, request) },
  { label: 'TypeScript', text: typescriptExample(base, request) },
  { label: 'Python', text: pythonExample(base, request) },
]

const isGet = ({ method }: ExampleRequest): boolean => method === 'GET'

/** Quotes for a POSIX shell. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const IDEMPOTENCY_KEY = 'Idempotency-Key'

/** Whether the example generates an idempotency key. */
const generatesKey = ({ isRepeatable, headers }: ExampleRequest): boolean =>
  isRepeatable && !headers.some(([name]) => name === IDEMPOTENCY_KEY)

function curlExample(base: string, request: ExampleRequest): string {
  const { method, path, query, headers, body, credential, isForm, isFile } = request
  const verb = isGet(request) ? (query.length > 0 ? '-G ' : '') : `-X ${method} `
  const lines = [`curl ${verb}${base}${path}`]
  if (credential === 'key') lines.push(`-H "X-API-Key: $KEY"`)
  if (credential === 'token') lines.push(`-H "Authorization: Bearer $TOKEN"`)
  // A fixed key would replay the first response, or reject another body.
  if (generatesKey(request)) lines.push(`-H "Idempotency-Key: $(openssl rand -hex 16)"`)
  for (const [name, value] of headers) lines.push(`-H ${shellQuoted(`${name}: ${value}`)}`)
  if (body !== undefined && !isForm) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(body))}`)
  }
  if (isFile) lines.push('--data-binary @file')
  const fields = isForm ? Object.entries(Object(body)) : query
  for (const [name, member] of fields) {
    const value = String(member)
    const option = /^[\w.:,-]*$/.test(value) ? '-d' : '--data-urlencode'
    const pair = `${name}=${value}`
    lines.push(`${option} ${/^[\w.:,=-]*$/.test(pair) ? pair : shellQuoted(pair)}`)
  }
  return lines.join(' \\\n  ')
}

/** Writes a JavaScript literal: member names without quotes where possible. */
function scriptLiteral(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    return `[${value.map((item) => scriptLiteral(item, indent)).join(', ')}]`
  }
  if (typeof value === 'string') return quotedText(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quotedText(name)
    return `${key}: ${scriptLiteral(member, `${indent}  `)}`
  })
  if (members.length === 0) return '{}'
  const line = `{ ${members.join(', ')} }`
  if (line.length + indent.length <= LINE_MAX && !line.includes('\n')) return line
  return `{\n${members.map((member) => `${indent}  ${member},\n`).join('')}${indent}}`
}
const LINE_MAX = 64

const quotedText = (value: string): string =>
  value.includes("'") || value.includes('\\') ? JSON.stringify(value) : `'${value}'`

/** Returns the parts of a path under a version: version, collection, id, action. */
function partsOf(path: string): readonly string[] | undefined {
  const [root, api, ...parts] = path.split('/')
  const isVersioned = root === '' && api === 'api' && /^v\d+$/.test(parts[0] ?? '')
  return isVersioned && parts.length >= 2 && parts.length <= 4 ? parts : undefined
}

/** Sends the request by `fetch`. */
function fetchExample(base: string, request: ExampleRequest): string {
  const { method, path, query, headers: typed, body, credential, isForm } = request
  const parameters = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const url = `${base}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
  const bearer = `Authorization: \`Bearer \${process.env.TOKEN}\``
  const headers = [
    ...(credential === 'token' ? [bearer] : []),
    ...(body !== undefined && !isForm ? [`'Content-Type': 'application/json'`] : []),
    ...typed.map(([name, value]) => `${quotedText(name)}: ${quotedText(value)}`),
  ]
  const literal = scriptLiteral(body, '  ')
  const text = isForm ? `new URLSearchParams(${literal})` : `JSON.stringify(${literal})`
  return [
    `const response = await fetch('${url}', {`,
    `  method: '${method}',`,
    ...(headers.length > 0 ? [`  headers: { ${headers.join(', ')} },`] : []),
    ...(body === undefined ? [] : [`  body: ${text},`]),
    '})',
    `if (!response.ok) throw new Error(await response.text())`,
    'console.log(await response.text())',
  ].join('\n')
}

function typescriptExample(base: string, request: ExampleRequest): string {
  if (isTokenPath(request.path)) return fetchExample(base, request)
  const version = partsOf(request.path)?.[0]
  const call = clientCall(request)
  const members = [
    `  baseUrl: '${base}',`,
    `  apiKey: ${request.credential === 'key' ? 'process.env.KEY!' : `''`},`,
    ...(version ? [`  version: '${version}',`] : []),
  ]
  return [
    ...(request.isFile ? [`import { readFile } from 'node:fs/promises'`] : []),
    `import { createClient } from 'gatehook-client'`,
    '',
    'const client = createClient({',
    ...members,
    '})',
    ...call,
  ].join('\n')
}

/** Returns the lines that use a collection of the client, or send the request as it is. */
function clientCall(request: ExampleRequest): string[] {
  const { method, path, query, body, collection: name, isFile } = request
  const options = callOptions(request)
  const [, , id, action] = partsOf(path) ?? []
  const params = scriptLiteral(Object.fromEntries(query.map(([key, value]) => [key, value])))
  const isNumber = id !== undefined && /^\d+$/.test(id)
  if (name !== undefined && !isFile && (id === undefined || isNumber)) {
    const variable = variableName(name)
    const rows = `const ${variable} = client.collection('${name}')`
    const call = collectionCall({ method, id, action, body, options })
    if (call === 'list') {
      const list = query.length > 0 || options !== undefined ? [params] : []
      return [
        rows,
        `const page = await ${variable}.list(${[...list, options ?? []].flat().join(', ')})`,
        'for (const row of page.data) console.log(row)',
      ]
    }
    if (call !== undefined) {
      const result = `await ${variable}.${call}`
      return [rows, method === 'DELETE' ? result : `console.log(${result})`]
    }
  }
  const members = [
    ...(query.length > 0 ? [`query: ${params}`] : []),
    ...(body === undefined ? [] : [`body: ${scriptLiteral(body, '  ')}`]),
    ...(isFile ? [`body: await readFile('file')`] : []),
    ...optionMembers(request),
  ]
  const rest = members.length > 0 ? `, {\n  ${members.join(',\n  ')},\n}` : ''
  return [
    `const response = await client.request('${method}', '${path}'${rest})`,
    'console.log(response.data)',
  ]
}

/** Returns the members of the options of a call: the idempotency key, and other headers. */
function optionMembers({ headers }: ExampleRequest): string[] {
  const key = headers.find(([name]) => name === IDEMPOTENCY_KEY)
  const others = headers.filter(([name]) => name !== IDEMPOTENCY_KEY)
  return [
    ...(key ? [`idempotencyKey: ${quotedText(key[1])}`] : []),
    ...(others.length > 0 ? [`headers: ${scriptLiteral(Object.fromEntries(others))}`] : []),
  ]
}

function callOptions(request: ExampleRequest): string | undefined {
  const members = optionMembers(request)
  return members.length === 0 ? undefined : `{ ${members.join(', ')} }`
}

/** Returns a name in camel case, or `rows` for a word of the language. */
function variableName(name: string): string {
  const camelCase = name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase())
  return RESERVED_WORDS.includes(camelCase) ? 'rows' : camelCase
}

const RESERVED_WORDS = [
  'await break case catch class const continue debugger default delete do else enum export',
  'extends false finally for function if implements import in instanceof interface let new null',
  'package private protected public return static super switch this throw true try typeof var',
  'void while with yield client page row console process',
].flatMap((words) => words.split(' '))

interface ClientCallParts {
  readonly method: string
  readonly id: string | undefined
  readonly action: string | undefined
  readonly body: unknown
  readonly options: string | undefined
}

function collectionCall(parts: ClientCallParts): string | undefined {
  const { method, id, action, body, options } = parts
  const rest = options === undefined ? [] : [options]
  const input = body === undefined ? rest.map(() => 'undefined') : [scriptLiteral(body)]
  const call = (name: string, ...values: string[]) => `${name}(${[...values, ...rest].join(', ')})`
  if (id === undefined) {
    return method === 'GET' ? 'list' : method === 'POST' ? call('create', ...input) : undefined
  }
  if (action !== undefined) {
    return method === 'POST' ? call('act', id, `'${action}'`, ...input) : undefined
  }
  if (method === 'GET') return call('get', id)
  if (method === 'DELETE') return call('delete', id)
  return method === 'PATCH' ? call('update', id, ...input) : undefined
}

function pythonLiteral(value: unknown, indent: string): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) {
    return `[${value.map((item) => pythonLiteral(item, indent)).join(', ')}]`
  }
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${pythonLiteral(member, `${indent}    `)}`,
  )
  const line = `{${members.join(', ')}}`
  if (line.length + indent.length <= LINE_MAX) return line
  return `{\n${members.map((member) => `${indent}    ${member},\n`).join('')}${indent}}`
}

function pythonExample(base: string, request: ExampleRequest): string {
  const { method, path, query, body, credential, isForm, isFile, hasAnswer } = request
  const headers = [
    credential === 'key' && '"X-API-Key": os.environ["KEY"]',
    credential === 'token' && '"Authorization": "Bearer " + os.environ["TOKEN"]',
    generatesKey(request) && '"Idempotency-Key": str(uuid.uuid4())',
    body !== undefined && !isForm && '"Content-Type": "application/json"',
    ...request.headers.map(([name, value]) => `"${name}": ${JSON.stringify(value)}`),
  ].filter((line) => typeof line === 'string')
  const url = `"${base}${path}${query.length > 0 ? '?" + query' : '"'},`
  const pairs = Object.fromEntries(query)
  const encoded = isForm ? 'urllib.parse.urlencode(body)' : 'json.dumps(body)'
  const data = [
    ...(body === undefined ? [] : [`    data=${encoded}.encode(),`]),
    ...(isFile ? ['    data=open("file", "rb").read(),'] : []),
  ]
  const modules = [
    'json',
    ...(credential === 'none' ? [] : ['os']),
    ...(query.length > 0 || isForm ? ['urllib.parse'] : []),
    'urllib.request',
    ...(generatesKey(request) ? ['uuid'] : []),
  ]
  return [
    `import ${modules.join(', ')}`,
    '',
    ...(query.length > 0 ? [`query = urllib.parse.urlencode(${pythonLiteral(pairs, '')})`] : []),
    ...(body === undefined ? [] : [`body = ${pythonLiteral(body, '')}`]),
    'request = urllib.request.Request(',
    `    ${url}`,
    ...(isGet(request) ? [] : [`    method="${method}",`]),
    ...(headers.length > 0
      ? ['    headers={', ...headers.map((line) => `        ${line},`), '    },']
      : []),
    ...data,
    ')',
    'with urllib.request.urlopen(request) as response:',
    hasAnswer ? '    print(json.load(response))' : '    print(response.status)',
  ].join('\n')
}

const CONSTANTS = { IDEMPOTENCY_KEY, LINE_MAX, RESERVED_WORDS }
const FUNCTIONS = {
  isTokenPath,
  codeExamples,
  isGet,
  shellQuoted,
  generatesKey,
  curlExample,
  scriptLiteral,
  quotedText,
  partsOf,
  fetchExample,
  typescriptExample,
  clientCall,
  optionMembers,
  callOptions,
  variableName,
  collectionCall,
  pythonLiteral,
  pythonExample,
}

/**
 * Returns the source of `codeExamples` for the script of the docs, which writes the examples again
 * when a reader fills in a form. The functions refer to each other and to the constants only.
 */
export function exampleScript(): string {
  const constants = Object.entries(CONSTANTS).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)}`,
  )
  const functions = Object.entries(FUNCTIONS).map(([name, value]) => `const ${name} = ${value}`)
  return `const codeExamples = (() => {\n${[...constants, ...functions].join('\n')}
return codeExamples
})()
`
}
