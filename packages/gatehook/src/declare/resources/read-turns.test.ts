/** §11.5: the reads of own code take turns, however many of them a request begins at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeOf } from '../../kernel/principal.ts'
import { createReadTurns } from './read-turns.ts'

const microtasks = async () => {
  for (let n = 0; n < 20; n++) await undefined
}

/** Reads that end when `endAll` is called, and turns of the event loop that `nextTurn` begins. */
function stage() {
  let after: (() => void)[] = []
  const turns = createReadTurns((next) => after.push(next))
  const begun: string[] = []
  let open: (() => void)[] = []
  const openTurns = (customer: number) => turns.open(scopeOf(customer, 'live'))
  const opener = (customer: number) => {
    const { take } = openTurns(customer)
    return (name: string) =>
      take(() => {
        begun.push(name)
        return new Promise<void>((end) => open.push(end))
      })
  }
  const endAll = async () => {
    const ends = open
    open = []
    for (const end of ends) end()
    await microtasks()
  }
  const nextTurn = async () => {
    const next = after
    after = []
    for (const call of next) call()
    await microtasks()
    return next.length
  }
  return {
    begun,
    openTurns,
    opener,
    endAll,
    nextTurn,
    /** Ends reads, also those that begin later. */
    async drain(reads: readonly Promise<unknown>[]) {
      const ended = Promise.all(reads).then(() => true)
      while (
        !(await Promise.race([
          ended,
          endAll()
            .then(nextTurn)
            .then(() => false),
        ]))
      );
    },
  }
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => prefix + n)

test('16 reads of own code begin in one turn of the event loop', async () => {
  const { begun, opener, endAll, nextTurn, drain } = stage()
  const read = opener(1)
  const all = names('a', 100).map(read)
  await microtasks()
  assert.deepEqual(begun, names('a', 16))
  await endAll()
  assert.equal(begun.length, 16, 'reads that end begin no others before the next turn')
  await nextTurn()
  assert.equal(begun.length, 32)
  await drain(all)
  assert.deepEqual(begun, names('a', 100), 'in the order of the code')
  await nextTurn()
  assert.equal(await nextTurn(), 0, 'an idle process has no turns')
})

test('64 reads of one handler run beside each other', async () => {
  const { begun, opener, nextTurn, drain } = stage()
  const read = opener(1)
  const all = names('a', 100).map(read)
  for (let n = 0; n < 10; n++) await nextTurn()
  assert.equal(begun.length, 64)
  await drain(all)
})

test('customers take turns, and so do the handlers of a customer', async () => {
  const { begun, opener, nextTurn, drain } = stage()
  const reads = [names('a', 40).map(opener(1)), names('b', 40).map(opener(1))]
  await microtasks()
  reads.push(names('c', 8).map(opener(2)))
  await nextTurn()
  assert.deepEqual(begun.slice(0, 18), ['a0', 'b0', ...names('a', 16).slice(1), 'c0'])
  assert.deepEqual(
    begun.slice(18).join(' '),
    'a16 c1 b1 c2 a17 c3 b2 c4 a18 c5 b3 c6 a19 c7 b4 a20',
  )
  await drain(reads.flat())
})

test('a read that fails gives its place to the next one', async () => {
  const turns = createReadTurns((next) => setImmediate(next))
  const { take } = turns.open(scopeOf(1, 'live'))
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) =>
      take(async () => {
        if (n % 2 === 0) throw new Error('no')
        return n
      }),
    ),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 100)
})

test('code that reads one row after the other waits for no turn', async () => {
  const { begun, opener, endAll } = stage()
  const parallel = names('a', 100).map(opener(1))
  await microtasks()
  const read = opener(2)
  for (let n = 0; n < 30; n++) {
    const running = read(`b${n}`)
    await microtasks()
    assert.equal(begun.at(-1), `b${n}`)
    await endAll()
    await running
  }
  assert.ok(begun.length < 130, 'the others have no more turns')
  void parallel
})

test('reads that wait fail when the code around them ends, and take no turn', async () => {
  const { openTurns, nextTurn } = stage()
  const { take, end } = openTurns(1)
  let begunCount = 0
  const count = async () => void begunCount++
  const reads = names('a', 1_000).map(() => take(count))
  const results = Promise.allSettled(reads)
  await microtasks()
  end()
  const failed = (await results).filter(({ status }) => status === 'rejected')
  assert.equal(begunCount + failed.length, 1_000)
  assert.ok(begunCount < 100, `${begunCount}`)
  await assert.rejects(take(count), /the code around this read has ended/)
  await nextTurn()
  await openTurns(1).take(count)
})
