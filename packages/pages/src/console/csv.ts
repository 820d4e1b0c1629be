/** Saves the rows of a list as a CSV file (RFC 4180). */
import { get, withQuery } from '../api.ts'
import type { CursorPage } from '../list-page.ts'
import { csvCell } from './csv-cell.ts'

const PAGE_ROWS = 100

interface CsvOptions<T> {
  /** The name of the file without `.csv`. */
  readonly name: string
  /** The path of the list with its filters. */
  readonly path: string
  readonly maxPages: number
  /** The header and the text of each column. */
  readonly columns: Readonly<Record<string, (row: T) => string>>
}

/** Loads up to `maxPages` pages and saves them. Returns the number of rows. */
export async function saveCsv<T>({
  name,
  path,
  maxPages,
  columns,
}: CsvOptions<T>): Promise<number> {
  const lines = [Object.keys(columns).join(',')]
  let cursor: string | null | undefined
  for (let page = 0; page < maxPages && cursor !== null; page++) {
    const body = await get<CursorPage<T>>(withQuery(path, { limit: PAGE_ROWS, cursor }))
    for (const row of body.data) {
      lines.push(
        Object.values(columns)
          .map((cell) => csvCell(cell(row)))
          .join(','),
      )
    }
    cursor = body.next_cursor
  }
  const file = new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv;charset=utf-8' })
  const url = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = url
  link.download = `${name}.csv`
  link.click()
  URL.revokeObjectURL(url)
  return lines.length - 1
}
