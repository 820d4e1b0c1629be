/** The configuration for people: every value with its source, and the reference page. Pure. */
import { type Config, type Source, withoutPassword } from './config.ts'
import { commandVariables, flagOf, type Option, type OptionName, optionList } from './options.ts'
import type { BurstRate, Rate } from './values.ts'

export interface Described {
  readonly name: string
  /** As it would be written in the environment; null: not set. Of secrets only `set`. */
  readonly value: string | null
  readonly source: Source
  readonly secret: boolean
}

/** Every option of the table, in its order. */
export const describeConfig = (config: Config): Described[] =>
  optionList.map(([name, option]) => ({
    name: option.env,
    value: valueText(name, option, config),
    source: config.sources[name],
    secret: option.secret === true,
  }))

function valueText(name: OptionName, option: Option, config: Config): string | null {
  const value = config[name]
  // Only a rate knows null as a value: no limit.
  if (value === null) return option.fallback === null ? null : '0'
  if (option.secret) return 'set'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (Array.isArray(value)) return value.join(',')
  if (typeof value === 'object') return rateText(value)
  return withoutPassword(String(value))
}

const rateText = (rate: Rate | BurstRate): string =>
  `${rate.limit}/${rate.windowS}${'burst' in rate ? ` burst ${rate.burst}` : ''}`

const code = (text: string) => `\`${text}\``

function defaultText(option: Option): string {
  if (option.otherwise) return option.otherwise
  if (option.fallback === null || option.fallback === '') return 'none'
  return code(option.fallback.replaceAll(',', ', '))
}

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

/** `docs/reference/configuration.md`. A test fails when the file says anything else. */
export function configurationPage(): string {
  const lines = optionList.map(([, option]) => {
    const flag = flagOf(option)
    const value = `${option.secret ? 'Secret. ' : ''}${option.kind.expects}`
    return row([
      code(option.env),
      flag ? code(flag) : '—',
      value.replaceAll('|', '\\|'),
      defaultText(option),
      option.sentence,
    ])
  })
  return `# Configuration

This page is generated: \`npm run docs\`. Every option is read once, at start, from the environment
or, where it has one, from its flag; the flag wins. All mistakes are reported together and the
process exits with 78. \`gatehook config\` prints every value and where it came from.

An empty variable counts as not set, except for lists, where it is the empty list. Switches are
\`1\` or \`0\`; their flags take no value. A \`GATEHOOK_\` name that nearly is an option stops the
start; other unknown ones are logged as a warning. Secrets have no flag, because any process of a
machine can read another's arguments.

${row(['variable', 'flag', 'value', 'default', 'meaning'])}
${row(['---', '---', '---', '---', '---'])}
${lines.join('\n')}

## Read by commands only

The service itself has no use for these.

${row(['variable', 'meaning'])}
${row(['---', '---'])}
${commandVariables.map(([name, sentence]) => row([code(name), sentence])).join('\n')}

## Rules between options

- Plain HTTP is served on loopback addresses only. Any other \`GATEHOOK_HOST\` needs
  \`GATEHOOK_TLS_CERT\` and \`GATEHOOK_TLS_KEY\`, or the proxy that terminates TLS named in
  \`GATEHOOK_TRUST_PROXY\`.
- \`GATEHOOK_TLS_CERT\` and \`GATEHOOK_TLS_KEY\` are set together or not at all.
- On PostgreSQL, \`GATEHOOK_SECRET_KEY\` is required, and the same on every node.
- \`GATEHOOK_SECRET_KEY_PREVIOUS\` needs \`GATEHOOK_SECRET_KEY\`, and is another secret.
- \`GATEHOOK_TEST_CLOCK\` and \`GATEHOOK_WEBHOOK_ALLOW_PRIVATE\` need a loopback \`GATEHOOK_HOST\`.
`
}
