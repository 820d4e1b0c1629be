/** A table from a list of columns. A column's priority decides at which width it leaves. */
import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly name: string
  readonly label: ComponentChildren
  /** 2 leaves at 768 px, 3 at 1008, 4 at 1200, 5 at 1600, each beside a drawer; none: it stays. */
  readonly priority?: 2 | 3 | 4 | 5
  readonly align?: 'end'
  /** Takes the remaining width, and cuts its text. One column of a table. */
  readonly isMain?: boolean
  /** Whether the header sorts by this column. */
  readonly isSortable?: boolean
  readonly class?: string
  readonly cell: (row: Row) => ComponentChildren
}

export interface Sort {
  readonly column: string
  readonly direction: 'ascending' | 'descending'
}

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string | number
  /** Rows have a link with the class `cover`, which then covers the row. */
  readonly isLinked?: boolean
  /** The key of the open row. */
  readonly current?: string | number | undefined
  readonly isNew?: (row: Row) => boolean
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
}

const classOf = ({ priority, align, isMain, ...column }: Column<never>) =>
  [priority && `c${priority}`, align && 'n', isMain && 'clip', column.class]
    .filter(Boolean)
    .join(' ') || undefined

function HeaderCell({ column, sort, onSort }: { column: Column<never> } & SortProps) {
  const direction = sort?.column === column.name ? sort.direction : undefined
  const next = direction === 'descending' ? 'ascending' : 'descending'
  const names = classOf({ ...column, isMain: false })
  return (
    <th scope="col" class={names} aria-sort={direction}>
      {column.isSortable && onSort ? (
        <button type="button" onClick={() => onSort({ column: column.name, direction: next })}>
          {column.label}
        </button>
      ) : (
        column.label
      )}
    </th>
  )
}

interface SortProps {
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, rowKey, isLinked, current, isNew, sort, onSort } = props
  const kinds = (row: Row) =>
    [isLinked && 'go', isNew?.(row) && 'new'].filter(Boolean).join(' ') || undefined
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a group that scrolls is reached by keyboard
    <div class="scroll" role="group" tabIndex={0} aria-label={caption}>
      <table class="table">
        <caption class="vh">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell
                key={column.name}
                column={column as Column<never>}
                sort={sort}
                onSort={onSort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row)
            return (
              <tr
                key={key}
                class={kinds(row)}
                aria-current={current !== undefined && key === current ? 'true' : undefined}
              >
                {columns.map((column) => (
                  <td key={column.name} class={classOf(column as Column<never>)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

interface TableSectionProps<Row> extends TableProps<Row> {
  readonly id: string
  readonly title: string
}

/** A table with a heading; nothing without rows. */
export const TableSection = <Row,>({ id, title, ...table }: TableSectionProps<Row>) =>
  table.rows.length > 0 && (
    <section class="section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Table {...table} />
    </section>
  )

/** The words of columns that have left, under the first cell of a narrow table. */
export const Sub = ({ children }: { readonly children: ComponentChildren }) => (
  <span class="sub">{children}</span>
)

interface PagerProps {
  /** For example `50 of 27,944`. */
  readonly children: ComponentChildren
  /** The URL of the newer page; undefined on the first. */
  readonly newer?: string | undefined
  readonly older?: string | undefined
  /** The words of the two links, for rows that are not sorted by time. */
  readonly words?: readonly [newer: string, older: string]
}

const PAGER_WORDS = ['Newer', 'Older'] as const

export const Pager = ({ children, newer, older, words = PAGER_WORDS }: PagerProps) => (
  <nav class="pager" aria-label="Pages">
    <span>{children}</span>
    <span class="right">
      {newer && (
        <a class="btn tiny" href={newer}>
          {words[0]}
        </a>
      )}{' '}
      {older && (
        <a class="btn tiny" href={older}>
          {words[1]}
        </a>
      )}
    </span>
  </nav>
)
