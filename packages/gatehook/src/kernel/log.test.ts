import assert from 'node:assert/strict'
import { type StdioOptions, spawnSync } from 'node:child_process'
import { closeSync, existsSync, globSync, openSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { batchLines, createLineLog, createLog, redactUrl, relayLine } from './log.ts'
import { createOutputState } from './output-state.ts'

test('the values of secret parameters are removed, in any spelling of their names', () => {
  const cases: [string, string][] = [
    ['/api/orders', '/api/orders'],
    ['/api/orders?limit=2&flag', '/api/orders?limit=2&flag'],
    ['/api/orders?api_key=gk_live_x&limit=2', '/api/orders?api_key=...&limit=2'],
    ['/api/orders?limit=2&cursor=abc%20d', '/api/orders?limit=2&cursor=...'],
    ['/api/orders?%61pi_key=gk_live_x', '/api/orders?%61pi_key=...'],
    ['/api/orders?API_KEY=gk_live_x', '/api/orders?API_KEY=...'],
    ['/api/orders?%zz=gk_live_x', '/api/orders?%zz=...'],
    ['/api/orders?api_key=a=b', '/api/orders?api_key=...'],
    ['/api/orders?sig=ab&otp=12', '/api/orders?sig=...&otp=...'],
    ['https://user:pw@h.example/a', 'https://...@h.example/a'],
    ['/a?u=//pw@h//p@h//x/a@b', '/a?u=//...@h//...@h//x/a@b'],
  ]
  for (const [url, logged] of cases) assert.equal(redactUrl(url), logged)
})

test('an API key in any other place of a URL is removed', () => {
  const key = `gk_live_${'x'.repeat(38)}`
  for (const where of ['?apiky=', '?x=1;y=', '?', '/', '?a?b=']) {
    assert.equal(redactUrl(`/api/orders${where}${key}`), `/api/orders${where}gk_live_...`)
  }
  for (const where of ['?api_key[]=', '?apikey=', '?x=1;api_key=', '?a?api_key=']) {
    assert.ok(!redactUrl(`/api/orders${where}${key}`).includes(key), where)
  }
})

test('the values of body members sent in a URL are removed', () => {
  for (const name of ['client_secret', 'refresh_token', 'password', 'code_verifier', 'ticket']) {
    assert.equal(redactUrl(`/oauth/token?${name}=abc&x=1`), `/oauth/token?${name}=...&x=1`)
  }
  const tokens = ['gs_CABYcVnZ', 'grt_0Vba5Skb-_x', 'whsec_ab/cd+ef==', 'whsec_ab%2Fcd']
  for (const secret of tokens) {
    const mark = secret.slice(0, secret.indexOf('_') + 1)
    assert.equal(redactUrl(`/events/${secret}?at=${secret}`), `/events/${mark}...?at=${mark}...`)
  }
})

test('a cause is logged with its message and those below it, without the values of a row', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } })
  const full = Object.assign(new Error('No space left on device'), { code: 'ENOSPC' })
  const failed = Object.assign(new Error('write failed', { cause: full }), {
    detail: 'Key (email)=(ada@example.com) already exists.',
  })
  log.error({ detail: failed }, 'detail')
  log.info({ detail: 'a sentence' }, 'detail')
  const [first, second] = lines.map((line) => JSON.parse(line))
  assert.equal(first.detail.message, 'write failed')
  assert.deepEqual(
    [first.detail.cause.code, first.detail.cause.message],
    ['ENOSPC', 'No space left on device'],
  )
  assert.ok(!lines[0]!.includes('ada@example.com'))
  assert.equal(second.detail, 'a sentence')
})

test('formatted lines join those of the log, from its level on', () => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const format = () => '"request_id":"r1","ms":0.5'
  createLineLog(createLog({ level: 'info', destination: { write } })).write('info', format)
  const { time, ...line } = JSON.parse(lines[0]!)
  assert.deepEqual(line, { level: 'info', request_id: 'r1', ms: 0.5 })
  assert.match(time, /^\d{4}-.*Z$/)
  const formatNothing = () => assert.fail('a disabled level formats no line')
  createLineLog(createLog({ level: 'warn', destination: { write } })).write('info', formatNothing)
  assert.equal(lines.length, 1)
})

test('the values of secret fields are removed, in filters too; others remain', () => {
  const fields = new Set(['pin'])
  const cases: [string, string][] = [
    ['/a?pin=1&name=b', '/a?pin=...&name=b'],
    ['/a?pin[in]=1,2', '/a?pin[in]=...'],
    ['/a?person.pin=1&order.person.pin[in]=1', '/a?person.pin=...&order.person.pin[in]=...'],
    ['/a?extra%5BPIN%5D=1', '/a?extra%5BPIN%5D=...'],
    ['/a?pinned=1&spin=2', '/a?pinned=1&spin=2'],
    ['/a?old_password=1&name[in]=a', '/a?old_password=...&name[in]=a'],
  ]
  for (const [url, logged] of cases) assert.equal(redactUrl(url, fields), logged)
})

test('a line of another thread keeps the cause that it names', () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  const write = (line: string) => relayLine(log, line)
  const ofThread = createLog({ level: 'info', destination: { write } })
  ofThread.warn({ err: new Error('read ECONNRESET'), detail: new Error('b') }, 'it broke')
  const { level, msg, err, detail } = JSON.parse(lines[0]!)
  assert.deepEqual(
    [level, msg, err.type, err.message, detail.message],
    ['warn', 'it broke', 'Error', 'read ECONNRESET', 'b'],
  )
})

test('lines that the output drops are counted in the next one that it takes', async () => {
  const texts: string[] = []
  const listeners: (() => void)[] = []
  let isFull = false
  const output = {
    on: (_: string, listener: () => void) => listeners.push(listener),
    write(text: string) {
      if (isFull) for (const listener of listeners) listener()
      else texts.push(text)
    },
    flush() {},
  }
  const state = createOutputState({ elapsedMs: () => 0 })
  const { write, flush } = batchLines(output as unknown as Parameters<typeof batchLines>[0], state)
  const writeAll = (...lines: string[]) => {
    for (const line of lines) write(`${line}\n`)
    flush()
  }
  writeAll('1')
  isFull = true
  writeAll('2', '3')
  writeAll('4')
  isFull = false
  writeAll('5')
  writeAll('6')
  assert.deepEqual([texts[0], texts[2], texts.length], ['1\n', '6\n', 3])
  const [dropped, last] = texts[1]!.split('\n')
  assert.equal(last, '5')
  assert.equal(JSON.parse(dropped!).lines, 3)
  assert.deepEqual(state.counts(), { waiting: 3, dropped: 3 })
})

test('no line has two members of one name', () => {
  const folder = fileURLToPath(new URL('../', import.meta.url))
  const call = /\blog\.(?:trace|debug|info|warn|error|fatal)\(\s*\{([^}]*)\}/g
  const repeated = globSync('**/*.ts', { cwd: folder }).flatMap((path) =>
    [...readFileSync(`${folder}${path}`, 'utf8').matchAll(call)]
      .filter(([, members]) => /(?:^|,)\s*(?:node|level|time|msg)\b/.test(members!))
      .map(([text]) => `${path}: ${text}`),
  )
  assert.deepEqual(repeated, [])
})

const FULL = '/dev/full'

test('a disk that is full ends no process, and delays no end', { skip: !existsSync(FULL) }, () => {
  const code = `
    import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)}
    import { outputState } from ${JSON.stringify(new URL('output-state.ts', import.meta.url).href)}
    const log = createLog({ level: 'info' })
    log.info('first')
    log.flush((error) => {
      const { waiting } = outputState.counts()
      process.stderr.write([error.code, outputState.fault().code, waiting].join())
      log.info('last')
      process.exit(7)
    })`
  const output = openSync(FULL, 'w')
  const stdio: StdioOptions = ['ignore', output, 'pipe']
  const args = ['--input-type=module', '--eval', code]
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio,
    timeout: 60_000,
    encoding: 'utf8',
  })
  closeSync(output)
  assert.deepEqual([status, stderr], [7, 'ENOSPC,ENOSPC,1'])
})
