/**
 * The screen of one list of the admin API: filters in the URL, a page of rows, the open row in a
 * drawer, the form that creates a row, and the request that returns the list.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Query, withQuery } from '../api.ts'
import { count } from '../format.ts'
import { LIMIT, useListPage } from '../list-page.ts'
import { type ColumnWords, columnsOf } from '../lists/columns.tsx'
import type { ListedObject } from '../lists/row-columns.ts'
import { valueAt } from '../lists/row-value.ts'
import { Button } from '../parts/button.tsx'
import { CallLine } from '../parts/call-line.tsx'
import { Screen } from '../parts/frame.tsx'
import { Empty, Part } from '../parts/notices.tsx'
import { type Filter, type FilterWord, QueryBox } from '../parts/query-box.tsx'
import { Pager, Table } from '../parts/table.tsx'
import { href, keepQuery, query, setQuery } from '../router.ts'
import { customerName } from './customer-names.ts'
import { filtersOf, parametersOf, queryOf } from './filter-words.ts'
import { OtherMode } from './other-mode.tsx'
import type { Mode } from './scope.ts'

export interface OpenRow {
  readonly id: string
  readonly closeHref: string
  /** Loads the list again. */
  readonly onChange: () => void
}

export interface CreationProps {
  readonly onClose: () => void
  readonly onCreate: () => void
}

interface Creation {
  /** The verb on the button. */
  readonly label: string
  readonly isAllowed: boolean
  /** Whether the form is open from the start. */
  readonly isOpen?: boolean
  readonly form: (props: CreationProps) => ComponentChildren
}

interface EmptyList {
  /** Describes the creation of a row. */
  readonly text: ComponentChildren
  /** A command that creates one, to copy. */
  readonly command?: string | undefined
}

interface ListScreenProps<Row> extends Pick<ColumnWords<Row>, 'cells' | 'omit' | 'mark'> {
  readonly title: string
  /** The path of the request. */
  readonly path: string
  /** Default: the filters. */
  readonly parameters?: (filters: readonly Filter[]) => Query
  /** Repeats the request. */
  readonly everyMs?: number
  /** The name of a row: `key`. */
  readonly noun: string
  /** The name of the list, if it is not the plural of `noun`. */
  readonly subject?: string
  readonly intro?: string
  /** Operations on the list, with the parameters of its request. */
  readonly actions?: (parameters: Query) => ComponentChildren
  readonly creation?: Creation
  readonly words: readonly FilterWord[]
  /** Examples of filters. */
  readonly placeholder: string
  readonly caption: string
  /** The object of a row, which has the columns. */
  readonly object: ListedObject
  /** The id of a row. Default: `id`. */
  readonly rowKey?: (row: Row) => string
  /** Displayed if the filter matches no row. */
  readonly noMatch?: ComponentChildren
  /** Displayed instead if the list has no filter. */
  readonly empty?: EmptyList
  /** The id of the open row, and its drawer. */
  readonly openId?: string | undefined
  /** The path of the page; a row is at `path`/`id`. */
  readonly pagePath: string
  readonly drawer?: (row: OpenRow) => ComponentChildren
}

interface NoRowsProps extends Partial<EmptyList> {
  readonly noun: string
  readonly path: string
  readonly parameters: Query
  readonly isFiltered?: boolean
}

function NoRows({ noun, path, parameters, isFiltered, text, command }: NoRowsProps) {
  const { mode } = parameters
  const pathOf = (other: Mode) => withQuery(path, { ...parameters, mode: other, limit: LIMIT })
  const place = mode ? ` in ${mode} mode` : ''
  return (
    <Empty title={isFiltered ? `No ${noun} matches` : `No ${noun}${place} yet`} command={command}>
      {text}
      {mode && <OtherMode pathOf={pathOf} noun={noun} />}
    </Empty>
  )
}

const ownerOf = (row: object): string | undefined => {
  const { customer } = row as { readonly customer?: string | null }
  return customer ? customerName(customer) : undefined
}

/** Rows are of one mode, which the side bar selects. */
const OMITTED = ['mode']

export function ListScreen<Row extends object>(props: ListScreenProps<Row>) {
  const { title, noun, words, creation, openId, drawer, pagePath } = props
  const rowKey = props.rowKey ?? ((row) => String(valueAt(row, 'id')))
  const columns = columnsOf<Row>(props.object, {
    ...props,
    cells: { customer: ownerOf, ...props.cells },
    omit: [...OMITTED, ...(props.omit ?? [])],
    hrefOf: (row) => (drawer ? keepQuery : href)(`${pagePath}/${encodeURIComponent(rowKey(row))}`),
  })
  const { subject = `${noun}s`, noMatch = 'Remove a word of the filter.' } = props
  const filters = filtersOf(query.value, words)
  const parameters = (props.parameters ?? parametersOf)(filters)
  const { everyMs } = props
  const options = everyMs === undefined ? {} : { everyMs }
  const { path, list, pageHref } = useListPage<Row>(props.path, parameters, options)
  const [isCreating, setCreating] = useState(creation?.isOpen === true && creation.isAllowed)
  const closeHref = keepQuery(pagePath)
  const isNew = filters.length === 0 && props.empty !== undefined
  return (
    <Screen
      title={title}
      drawer={openId && drawer?.({ id: openId, closeHref, onChange: list.reload })}
    >
      {props.intro && (
        <div class="head">
          <p class="soft small">{props.intro}</p>
          <div class="acts">
            {props.actions?.(parameters)}
            {creation?.isAllowed && (
              <Button kind="first" onClick={() => setCreating(true)}>
                {creation.label}
              </Button>
            )}
          </div>
        </div>
      )}
      <QueryBox
        label={`Filter ${subject}`}
        words={words}
        filters={filters}
        onChange={(next) => setQuery({ ...queryOf(next, words), cursor: undefined })}
        placeholder={props.placeholder}
      />
      <Part of={list} subject={subject}>
        {(page) =>
          page.data.length === 0 ? (
            <NoRows
              noun={noun}
              path={props.path}
              parameters={parameters}
              {...(isNew ? props.empty : { text: noMatch, isFiltered: true })}
            />
          ) : (
            <>
              <Table
                caption={props.caption}
                columns={columns}
                rows={page.data}
                rowKey={rowKey}
                isLinked
                current={openId}
              />
              <Pager newer={pageHref(page.cursors?.prev)} older={pageHref(page.next_cursor)}>
                {count(page.data.length, noun)}
              </Pager>
            </>
          )
        }
      </Part>
      <CallLine path={path} />
      {isCreating && creation?.form({ onClose: () => setCreating(false), onCreate: list.reload })}
    </Screen>
  )
}
