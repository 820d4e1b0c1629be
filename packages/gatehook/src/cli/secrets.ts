/** `gatehook secrets …`: the master secret that encrypts stored secrets (§2.6 note 2, §13). */
import { setTimeout as delay } from 'node:timers/promises'
import { resetMasterSecret } from '../assembly/secrets.ts'
import { recordAudit } from '../history/audit/store.ts'
import { createLog } from '../kernel/log.ts'
import { databaseTarget, withoutPassword } from '../platform/config/config.ts'
import { databaseExists } from '../platform/config/environment.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { IDLE_POLL_MS, POLL_MS } from '../platform/storage/shared-poll.ts'
import { type CommandFamily, configOf, type Input } from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import { cliActor, installation, installationOptions, withApp } from './installation.ts'
import { bold, dim, formatCount, table, yellow } from './output.ts'

/** Nodes poll the key id at these intervals; allows for late polls. */
const PROPAGATION_MS = { sqlite: 3 * POLL_MS, postgres: 2 * IDLE_POLL_MS + POLL_MS }

async function runReset(input: Input): Promise<undefined> {
  if (input.options.force !== true) {
    throw new UsageError('This replaces what the lost secret encrypted, for good: add --force.')
  }
  const config = configOf(input)
  if (!databaseExists(config)) {
    throw new CommandError(`There is no database at ${withoutPassword(config.databaseUrl)}.`)
  }
  const db = await openDatabase(databaseTarget(config), { log: createLog({ level: 'silent' }) })
  const result = await resetMasterSecret(db, config).finally(() => db.close())
  // The app creates a signing key and the audit chain.
  await withApp(input, (app) =>
    app.db.write((tx) =>
      recordAudit(
        tx,
        {
          actor: cliActor(),
          action: 'master_secret.reset',
          target: result.key_id,
          detail: { values: result.values },
        },
        app.administration,
      ),
    ),
  )
  input.out.result(result, () =>
    [
      `Key ${bold(result.key_id)} encrypts from now on. Values that the lost one had encrypted:`,
      ...Object.entries(result.values).map(([name, count]) => `${name}: ${formatCount(count)}`),
    ].join('\n'),
  )
  return
}

export const secrets: CommandFamily = {
  name: 'secrets',
  summary: 'the master secret that encrypts stored values: rotate it, count the values',
  commands: [
    installation.action({
      name: 'rotate',
      summary: 'encrypt everything under a new master secret',
      description:
        'On SQLite, generates a new secret.key; the previous one stays beside it until the ' +
        'rotation has finished. With GATEHOOK_SECRET_KEY set, and on PostgreSQL, takes the new ' +
        'secret from GATEHOOK_SECRET_KEY and the old one from GATEHOOK_SECRET_KEY_PREVIOUS; ' +
        'restart every node with both first. Nodes continue to serve. After an interruption, ' +
        'run it once more: it continues where it stopped.',
      examples: [
        ['gatehook secrets rotate', 'SQLite: the service may run'],
        [
          'GATEHOOK_SECRET_KEY=NEW GATEHOOK_SECRET_KEY_PREVIOUS=OLD gatehook secrets rotate',
          'PostgreSQL: after every node started with both',
        ],
      ],
      act(app, { out }) {
        const actor = cliActor()
        let reportedCount = 0
        return app.secrets.rotate({
          audit: (tx, action, target, detail) =>
            recordAudit(tx, { actor, action, target, detail }, app.administration),
          waitForNodes: async () => {
            out.progress('The new secret encrypts; waiting for nodes to use it.')
            await delay(PROPAGATION_MS[app.db.name])
          },
          onProgress(done) {
            if (done - reportedCount < 1_000) return
            reportedCount = done
            out.progress(`${formatCount(done)} values encrypted`)
          },
        })
      },
      describe: ({ key_id, previous_key_id, resumed, values, unreadable }) =>
        [
          previous_key_id === null
            ? `Key ${bold(key_id)} encrypts this database already; unset ` +
              'GATEHOOK_SECRET_KEY_PREVIOUS.'
            : `${resumed ? 'Finished the rotation' : 'Rotated'} from key ${previous_key_id} to ` +
              `${bold(key_id)}: ${formatCount(values)} values encrypted.`,
          ...(unreadable > 0
            ? [
                yellow(
                  `${formatCount(unreadable)} values could not be decrypted and were left alone.`,
                ),
              ]
            : []),
        ].join('\n'),
      exit: ({ unreadable }) => (unreadable > 0 ? EXIT.failed : EXIT.ok),
    }),
    {
      name: 'reset',
      summary: 'after the master secret was lost: a new one, without what the lost one encrypted',
      description:
        'For a database whose master secret is lost. Ends all sessions of people, replaces the ' +
        'signing keys and the secrets of webhooks, removes second factors of operators, and ' +
        'begins a new audit chain with the existing rows. Rows, API keys and passwords stay. End ' +
        'all nodes first. After an interruption, run it once more.',
      options: [...installationOptions, ['--force', 'required: what is replaced cannot return']],
      config: ['databaseUrl'],
      examples: [
        ['gatehook secrets reset --force', 'SQLite: creates secret.key'],
        ['GATEHOOK_SECRET_KEY=NEW gatehook secrets reset --force', 'PostgreSQL'],
      ],
      run: runReset,
    },
    installation.action({
      name: 'status',
      summary: 'how many values are encrypted under which key',
      examples: [['gatehook secrets status', 'the progress of a rotation']],
      act: ({ secrets }) => secrets.status(),
      describe: ({ key_id, rotation, values }) =>
        [
          rotation
            ? `A rotation from key ${rotation.previous_key_id} to ${bold(key_id)} began at ` +
              `${rotation.started_at}. To continue: gatehook secrets rotate`
            : `Key ${bold(key_id)} encrypts.`,
          '',
          table(
            ['table', 'column', 'key', 'values'],
            values.map((row) => [
              row.table,
              row.column,
              row.key_id ?? dim('none (a removed secret)'),
              formatCount(row.count),
            ]),
          ),
        ].join('\n'),
    }),
  ],
}
