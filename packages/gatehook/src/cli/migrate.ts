/** `gatehook migrate` and `gatehook seed`: the first steps of a start, without serving. */
import type { CommandSpec, Input } from './command.ts'
import { installation, installationOptions, withApp } from './installation.ts'

async function runMigrate(input: Input): Promise<undefined> {
  const lines: string[] = []
  const onProgress = (line: string) => {
    lines.push(line)
    input.out.progress(line)
  }
  const out = { ...input.out, progress: onProgress }
  await withApp({ ...input, out }, (app) => app.finishIndexes(onProgress), { migrates: true })
  input.out.result({ applied: lines }, () =>
    lines.length === 0 ? 'The database is up to date.' : 'The database is up to date now.',
  )
  return
}

export const migrate: CommandSpec = {
  name: 'migrate',
  summary: 'bring the database up to date, without starting',
  description:
    'Applies pending migrations of the engine and additions of the declaration. A change that ' +
    'is not an addition is an error, as it is at start.',
  options: installationOptions,
  config: ['databaseUrl'],
  examples: [['gatehook migrate', 'before nodes of a new release start']],
  run: runMigrate,
}

export const seed: CommandSpec = installation.action({
  name: 'seed',
  summary: 'sample data in test mode, for empty collections',
  description: 'Fills empty collections of the default customer, test mode, with declared samples.',
  examples: [['gatehook seed', 'after a start with --no-seed']],
  opening: { migrates: true, seed: true },
  act: ({ seeded }) => ({ rows: seeded }),
  describe({ rows }) {
    const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
    return total === 0
      ? 'There are rows already; nothing was added.'
      : Object.entries(rows)
          .map(([name, count]) => `${name}: ${count} rows`)
          .join('\n')
  },
})
