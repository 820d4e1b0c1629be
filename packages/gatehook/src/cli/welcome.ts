/** The text for a person when the service is up: links, test key, first steps. Pure. */
import { bold, cyan, dim, green } from './output.ts'

export interface Welcome {
  readonly version: string
  readonly url: string
  /** The database URL, without a password. */
  readonly database: string
  /** Newest first. */
  readonly versions: readonly string[]
  /** Collection of the example request. */
  readonly collection: string | undefined
  /** The scope that a first key needs. */
  readonly scope: string
  readonly startedMs: number
  /** Whether the reference service runs, because the folder declares none. */
  readonly isReference: boolean
  /** The one-time link of the first operator; undefined once an operator exists. */
  readonly consolePath: string | undefined
  /** Of a first start. */
  readonly testKey: string | undefined
  readonly columns: number
}

function tree(rows: readonly (readonly [label: string, value: string])[]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value], n) => {
    const branch = n === rows.length - 1 ? '└─' : '├─'
    return `  ${dim(branch)} ${label.padEnd(width)}   ${value}`
  })
}

/** Returns one line if it fits, otherwise two lines joined for the shell. */
function curlLines(key: string, url: string, columns: number): string[] {
  const [header, target] = [`curl -H 'X-API-Key: ${key}'`, `'${url}'`]
  if (header.length + target.length + 5 <= columns) return [`    ${cyan(`${header} ${target}`)}`]
  return [`    ${cyan(`${header} \\`)}`, `      ${cyan(target)}`]
}

function firstSteps(at: Welcome, key: string, newest: string): string[] {
  const path = at.collection
    ? `/api/${newest}/${at.collection}?limit=3`
    : `/api/${newest}/protected`
  const keyLines = ['', '  Your test key, displayed only once:', '', `    ${bold(key)}`]
  return [...keyLines, '', '  Try it:', '', ...curlLines(key, at.url + path, at.columns)]
}

function nextSteps(at: Welcome): string[] {
  const steps: [command: string, meaning: string][] = at.isReference
    ? [['npx gatehook init my-api', 'declare resources of your own']]
    : []
  if (at.testKey === undefined) {
    const command = `npx gatehook keys create --name mine --mode test --scopes ${at.scope}`
    steps.push([command, 'another key'])
  }
  steps.push(
    ['npx gatehook keys list', 'the API keys'],
    ['npx gatehook doctor', 'checks this installation'],
  )
  const width = Math.max(...steps.map(([command]) => command.length))
  return [
    '',
    '  Next:',
    '',
    ...steps.map(([command, meaning]) => `    ${cyan(command.padEnd(width))}   ${dim(meaning)}`),
  ]
}

/** Returns the text. Its links work, and its curl line can be pasted. */
export function welcomeText(at: Welcome): string {
  const newest = at.versions[0] ?? 'v1'
  const links: [string, string][] = [
    ['Console', `${at.url}${at.consolePath ?? '/console'}`],
    ['API', `${at.url}/`],
    ['Docs', `${at.url}/docs`],
    ...at.versions.map((version): [string, string] => [
      at.versions.length > 1 ? `OpenAPI ${version}` : 'OpenAPI',
      `${at.url}/openapi/${version}.json`,
    ]),
    ['Health', `${at.url}/healthz`],
    ['Data', at.database],
  ]
  return [
    '',
    `  ${green('●')} ${bold('Gatehook')} ${dim(at.version)} is up ${dim(`(${at.startedMs} ms)`)}`,
    ...(at.isReference ? [dim('    the reference service: this folder has no service.ts')] : []),
    '',
    ...tree(links),
    ...(at.consolePath ? ['', dim('  The console link works once, within 30 minutes.')] : []),
    ...(at.testKey ? firstSteps(at, at.testKey, newest) : []),
    ...nextSteps(at),
    '',
    dim('  Ctrl+C stops it; requests in flight are finished first.'),
    '',
  ].join('\n')
}
