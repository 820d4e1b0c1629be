/** `gatehook config`: every option with its value and source. Secrets are only `set`. */
import { configurationPage, describeConfig } from '../platform/config/describe.ts'
import { type CommandSpec, configOf, DIR_OPTION, type Input } from './command.ts'
import { dim, table, writeText } from './output.ts'

function run(input: Input): undefined {
  const { options, out } = input
  if (options.markdown) {
    writeText(process.stdout, configurationPage())
    return
  }
  const config = configOf(input)
  const rows = describeConfig(config)
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
