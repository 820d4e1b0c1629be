/** `gatehook config`: every option with its value and source. Secrets are only `set`. */
import { variablesOf } from '../declare/forwards/configuration.ts'
import { type Config, type ValueSource, withoutPassword } from '../platform/config/config.ts'
import { configurationPage, describeConfig } from '../platform/config/describe.ts'
import { type CommandSpec, configOf, DIR_OPTION, type Input } from './command.ts'
import { dim, table, writeText } from './output.ts'
import { findService, loadService } from './service-file.ts'

async function run(input: Input): Promise<undefined> {
  const { options, out } = input
  if (options.markdown) {
    writeText(process.stdout, configurationPage())
    return
  }
  const config = configOf(input)
  const rows = [...describeConfig(config), ...(await describeVariables(input, config))]
  out.result({ values: rows, warnings: config.warnings }, () =>
    [
      table(
        ['variable', 'source', 'value'],
        rows.map((row) => [
          row.name,
          row.source === 'default' ? dim(row.source) : row.source,
          row.value === null ? dim('not set') : row.value === '' ? dim('none') : row.value,
        ]),
      ),
      ...config.warnings.map((warning) => `\n${warning}`),
    ].join('\n'),
  )
}

/** Describes the variables that a declared service names by `env(…)`. */
async function describeVariables({ folder }: Input, { variable: read }: Config) {
  const file = findService(folder)
  if (!file.isDeclared) return []
  const { definition } = await loadService(file)
  return variablesOf(definition.upstreams).map(({ variable: name, isSecret: secret }) => {
    const text = read(name) ?? null
    const value = secret && text !== null ? 'set' : text && withoutPassword(text)
    const source: ValueSource = text === null ? 'default' : 'environment'
    return { name, value, source, secret }
  })
}

export const config: CommandSpec = {
  name: 'config',
  summary: 'every option, its value and its source',
  options: [DIR_OPTION, ['--markdown', 'print the reference of all options']],
  config: 'all',
  examples: [
    ['gatehook config', 'the configuration of a start in this folder'],
    ['GATEHOOK_PORT=0 gatehook config --json', 'the same for programs'],
  ],
  run,
}
