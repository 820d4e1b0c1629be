/** Row 26: pages of a search of a million rows, against pages of the whole list. */
import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { PAGE_SIZE, pagesOf, wholeList } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1_000_000
const contender = gatehook({ users, service: 'collections' })
/** Pages of rows from the beginning of a search; the smallest has 13,800 rows. */
const PAGES = 650

/** Each row has a word that begins with each of the requested ones. */
const checkSearch =
  (terms: readonly string[]) =>
  (_: BenchRequest, { body }: Sample): string | undefined => {
    const { data } = JSON.parse(body) as { data: { name: string }[] }
    if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
    const other = data.find(({ name }) => {
      const words = name.toLowerCase().split(' ')
      return !terms.every((term) => words.some((word) => word.startsWith(term)))
    })
    return other && `${other.name} is a row of ${terms.join(' ')}`
  }

const search = (name: string, q: string): Side => ({
  name,
  contender,
  requests: (url) =>
    pagesOf(url, { parameters: `&q=${q}`, from: 0, to: PAGES * PAGE_SIZE, step: PAGE_SIZE / 2 }),
  check: checkSearch(q.split('+')),
})

const searches = [
  search('word of a ninth', 'grace'),
  search('beginning of a third', 'a'),
  search('two words', 'ada+turing'),
]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '26b',
    title: 'cursor page of 20 of a search, in the order of the id',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [{ name: 'unfiltered', contender, ...wholeList(users) }, ...searches],
    targets: searches.map(({ name }) => ({ of: 'unfiltered', to: name, most: 5 })),
  },
]
