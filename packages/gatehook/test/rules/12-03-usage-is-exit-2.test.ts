/** §12.3: a mistake in the command is exit 2 with a sentence and a hint; help is exit 0. */
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { gatehook } from '../cli/command.ts'

const here = { cwd: tmpdir() }

const wrong: [args: string[], sentence: RegExp][] = [
  [['strat'], /unknown command 'strat'\s+\(Did you mean start\?\)/],
  [
    ['keys', 'creat'],
    /unknown command 'creat'\s+\(Did you mean create\?\)\s+See: gatehook keys --help/,
  ],
  [['start', '--prot', '1'], /unknown option '--prot'\s+\(Did you mean --port\?\)/],
  [['keys', 'revoke'], /missing required argument 'ID'\s+See: gatehook keys revoke --help/],
  [['start', 'first', 'second'], /too many arguments/],
  [['start', '/no/such/folder'], /There is no folder \/no\/such\/folder\./],
  [['start', '--role', 'api,web'], /--role "web" is not a role; roles are api and delivery\./],
  [['openapi', '--version', 'v9'], /There is no version v9; there are v1, v2\./],
  [['clock', 'advance', 'soon'], /"soon" is no span of time; expected/],
  [['listen', '--forward-to', '/ok'], /--forward-to "\/ok" is no URL to send to; try http/],
  [['clock', 'rewind', '1d'], /"rewind" is not an action/],
]

for (const [args, sentence] of wrong) {
  test(`gatehook ${args.join(' ')} is rejected`, async () => {
    const { exit, stdout, stderr } = await gatehook(here, ...args)
    assert.equal(exit, 2)
    assert.equal(stdout, '')
    assert.match(stderr, sentence)
    assert.doesNotMatch(stderr, /\n\s+at /)
  })
}

test('with --json a mistake is one JSON line on standard error', async () => {
  const { exit, stdout, stderr } = await gatehook(here, 'start', '/no/such/folder', '--json')
  assert.deepEqual(JSON.parse(stderr), { error: 'There is no folder /no/such/folder.', exit: 2 })
  assert.equal(exit, 2)
  assert.equal(stdout, '')
})

test('--version prints the version alone', async () => {
  const { exit, stdout } = await gatehook(here, '--version')
  assert.equal(exit, 0)
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

test('without arguments it lists every command; help of a command has examples', async () => {
  const { exit, stdout } = await gatehook(here)
  assert.equal(exit, 0)
  for (const name of ['start', 'init', 'migrate', 'seed', 'config', 'doctor', 'keys', 'clock']) {
    assert.match(stdout, new RegExp(`^ {2}${name} `, 'm'))
  }
  const help = await gatehook(here, 'keys', 'create', '--help')
  assert.equal(help.exit, 0)
  assert.match(help.stdout, /Examples:\n {2}gatehook keys create /)
})
