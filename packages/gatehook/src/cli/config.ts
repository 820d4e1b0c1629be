/** `gatehook config`: every value and where it came from; secrets only as set or not. */
import { configurationPage, describeConfig } from '../config/describe.ts'
import { readConfig } from '../config/environment.ts'
import type { CommandSpec, Input } from './command.ts'
import { dim, table } from './output.ts'

function run({ flags, options, out }: Input): undefined {
  if (options.markdown) {
    process.stdout.write(configurationPage())
    return
  }
  const read = readConfig(flags)
  const rows = describeConfig(read)
  const json = { values: rows, warnings: read.warnings }
  out.result(json, () =>
    [
      table(
        ['variable', 'source', 'value'],
        rows.map((row) => [
          row.name,
          row.source === 'default' ? dim(row.source) : row.source,
          row.value === null ? dim('not set') : row.value === '' ? dim('none') : row.value,
        ]),
      ),
      ...read.warnings.map((warning) => `\n${warning}`),
    ].join('\n'),
  )
}

export const config: CommandSpec = {
  name: 'config',
  summary: 'every option, its value and where it came from',
  options: [['--markdown', 'print the reference of all options instead']],
  config: 'all',
  examples: [
    ['gatehook config', 'what a start here and now would run with'],
    ['GATEHOOK_PORT=0 gatehook config --json', 'the same for programs'],
  ],
  run,
}
