/**
 * What a person sees when the service is up: links, the test key on the first start, what to try.
 * Pure.
 */
import { bold, cyan, dim, green } from './output.ts'

export interface Welcome {
  readonly version: string
  readonly url: string
  /** Where data is kept, as the person wrote it. */
  readonly database: string
  /** Newest first. */
  readonly versions: readonly string[]
  /** Collection whose list makes the example. */
  readonly collection: string | undefined
  readonly startedMs: number
  /** True where no folder declared a service, so that the reference service runs. */
  readonly reference: boolean
  /** Made by this start; a later one shows none. */
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

/** On one line where it fits; a long one breaks where the shell lets it. */
function curl(key: string, url: string, columns: number): string[] {
  const [header, target] = [`curl -H 'X-API-Key: ${key}'`, `'${url}'`]
  if (header.length + target.length + 5 <= columns) return [`    ${cyan(`${header} ${target}`)}`]
  return [`    ${cyan(`${header} \\`)}`, `      ${cyan(target)}`]
}

function firstSteps(at: Welcome, key: string, newest: string): string[] {
  const path = at.collection
    ? `/api/${newest}/${at.collection}?limit=3`
    : `/api/${newest}/protected`
  const shown = ['', '  Your test key, shown this once:', '', `    ${bold(key)}`]
  return [...shown, '', '  Try it:', '', ...curl(key, at.url + path, at.columns)]
}

function next(at: Welcome): string[] {
  const steps: [command: string, what: string][] = at.reference
    ? [['npx gatehook init my-api', 'declare resources of your own']]
    : []
  steps.push(
    ['npx gatehook keys list', 'who may call'],
    ['npx gatehook doctor', 'is everything well?'],
  )
  const width = Math.max(...steps.map(([command]) => command.length))
  return [
    '',
    '  Next:',
    '',
    ...steps.map(([command, what]) => `    ${cyan(command.padEnd(width))}   ${dim(what)}`),
  ]
}

/** Every link in it answers, and the curl line works as it stands. */
export function welcomeText(at: Welcome): string {
  const newest = at.versions[0] ?? 'v1'
  const links: [string, string][] = [
    ['API', `${at.url}/`],
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
    ...(at.reference ? [dim('    the reference service, for no service.ts was found here')] : []),
    '',
    ...tree(links),
    ...(at.testKey ? firstSteps(at, at.testKey, newest) : []),
    ...next(at),
    '',
    dim('  Ctrl+C stops it; requests in flight are finished first.'),
    '',
  ].join('\n')
}
