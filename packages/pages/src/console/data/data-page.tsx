/** The rows of any declared resource: a list with filters, sorts and counts, and one row. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, curlOf, get, type Query, withQuery } from '../../api.ts'
import { initCommand } from '../../commands.ts'
import { count, number } from '../../format.ts'
import { lazy } from '../../lazy.tsx'
import type { CursorPage } from '../../list-page.ts'
import { LIMIT, useListPage } from '../../list-page.ts'
import { type Loaded, useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Screen } from '../../parts/frame.tsx'
import { Empty, Loading, Part } from '../../parts/notices.tsx'
import { QueryBox } from '../../parts/query-box.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import { go, href, type PageProps, place, query, setQuery } from '../../router.ts'
import { saveCsv } from '../csv.ts'
import { customerName, customers } from '../customer-names.ts'
import { filtersOf, queryOf } from '../filter-words.ts'
import { OtherMode } from '../other-mode.tsx'
import { dataLabel } from '../page-labels.ts'
import { customer, mode } from '../scope.ts'
import { mayChange } from '../session.ts'
import { ColumnsButton, useColumnChoice } from './column-choice.tsx'
import { columnsOf } from './data-columns.tsx'
import { dataParameters, dataWords, FILTER_PREFIX, placeholderOf } from './data-filters.ts'
import { textOf } from './field-value.tsx'
import { useReferences } from './references.ts'
import {
  type DataRow,
  type DataScope,
  type Overview,
  type Resource,
  rowsPath,
} from './resource-shapes.ts'
import { CreateRow } from './row-operations-code.ts'
import { sampleBody } from './sample-body.ts'

const { Lazy: RowDrawer, prefetch: prefetchDrawer } = lazy(
  async () => (await import('./row-drawer.tsx')).RowDrawer,
)

/** Rows of a CSV file: 20 pages of 100. */
const MAX_CSV_PAGES = 20

export const Page = ({ params: { collection, id } }: PageProps) => (
  <Collection key={collection} name={collection} id={id} />
)

interface CollectionProps {
  readonly name: string | undefined
  readonly id: string | undefined
}

/** The only customer of an installation needs no selection. */
function useCustomer(): string | undefined {
  const [only, ...others] = customers.value
  return customer.value ?? (others.length === 0 ? only?.id : undefined)
}

function Collection({ name, id }: CollectionProps) {
  const owner = useCustomer()
  const version = query.value.get('version') ?? undefined
  const parameters = { customer: owner, mode: owner && mode.value, version }
  const path = withQuery('/admin/resources', parameters)
  const overview = useLoaded<Overview>(path)
  const first = overview.data?.resources[0]?.name
  useEffect(() => {
    if (name === undefined && first) go(href(`/console/data/${first}`), { replace: true })
  }, [name, first])
  const { data } = overview
  const resource = data?.resources.find((other) => other.name === name)
  const hasCounts = resource !== undefined && resource.count !== null
  if (data && resource && owner && hasCounts) {
    const scope = { customer: owner, mode: mode.value, version: data.version }
    return <Rows id={id} {...{ overview, data, resource, scope }} />
  }
  return (
    <Screen title={name === undefined ? 'Data' : dataLabel(name)}>
      <Part of={overview} subject="the resources">
        {() => {
          if (!resource) return <NoResource name={name} />
          return owner || customers.value.length === 0 ? (
            <Loading subject="rows" />
          ) : (
            <SelectCustomer />
          )
        }}
      </Part>
      <CallLine path={path} />
    </Screen>
  )
}

const NoResource = ({ name }: { readonly name: string | undefined }) =>
  name === undefined ? (
    <Empty title="The service declares no resource" command={initCommand}>
      The command writes a project with a declaration to change.
    </Empty>
  ) : (
    <Empty title={`The service has no resource ${name}`}>
      <a href={href('/console/data')}>The declared resources</a>
    </Empty>
  )

/** Rows belong to one customer. */
const SelectCustomer = () => (
  <>
    <p class="head soft small">
      <span>
        Each row belongs to a customer. Select a customer, or{' '}
        <a href={href('/console/customers')}>find it</a>.
      </span>
    </p>
    <Table
      caption="Customers"
      rows={customers.value}
      rowKey={({ id }) => id}
      isLinked
      columns={[
        {
          name: 'name',
          label: 'Customer',
          isMain: true,
          cell: ({ id, name }) => (
            <a class="cover" href={href(place.value.path, { customer: id })}>
              {name}
            </a>
          ),
        },
        { name: 'id', label: 'Id', priority: 2, cell: ({ id }) => <code class="soft">{id}</code> },
      ]}
    />
  </>
)

interface RowsProps {
  readonly overview: Loaded<Overview>
  readonly data: Overview
  readonly resource: Resource
  readonly scope: DataScope
  readonly id: string | undefined
}

const defaultSort = ({ sort }: Resource): string | undefined =>
  sort.includes('id') ? '-id' : undefined

function Rows({ overview, data, resource, scope, id }: RowsProps) {
  const { name, access } = resource
  const words = dataWords(resource)
  const filters = filtersOf(query.value, words, FILTER_PREFIX)
  const sort = query.value.get('sort') ?? defaultSort(resource)
  const base = rowsPath(scope, name)
  const parameters = { sort, ...dataParameters(resource, filters) }
  const { path, list, pageHref } = useListPage<DataRow>(base, parameters)
  const [isCreating, setCreating] = useState(false)
  const choice = useColumnChoice(resource)
  const nameOf = useReferences(scope, data, name, list.data?.data ?? [])
  const closeHref = withQuery(`/console/data/${name}`, Object.fromEntries(query.value))
  const reload = () => {
    list.reload()
    overview.reload()
  }
  useEffect(prefetchDrawer, [])
  const isFiltered = filters.length > 0
  return (
    <Screen
      title={dataLabel(name)}
      drawer={
        id && (
          <RowDrawer
            key={id}
            overview={data}
            onChange={reload}
            {...{ id, resource, scope, closeHref }}
          />
        )
      }
    >
      <Head {...{ data, resource, scope }}>
        <ColumnsButton {...{ resource, choice }} />
        <CsvButton {...{ resource, base, parameters }} />
        {access.create && mayChange('administrator') && (
          <Button size="tiny" kind="first" onClick={() => setCreating(true)}>
            Create
          </Button>
        )}
      </Head>
      <QueryBox
        label={`Filter ${name}`}
        words={words}
        filters={filters}
        onChange={(next) => setQuery({ ...queryOf(next, words, FILTER_PREFIX), cursor: undefined })}
        placeholder={placeholderOf(resource)}
      />
      <Part of={list} subject="rows">
        {(page) =>
          page.data.length === 0 ? (
            <NoRows isFiltered={isFiltered} {...{ resource, scope }} />
          ) : (
            <RowTable resource={choice.visible} {...{ page, sort, nameOf, id, pageHref }}>
              {isFiltered ? (
                <FilteredCount
                  key={path}
                  rows={page.data.length}
                  path={base}
                  parameters={parameters}
                />
              ) : (
                `${number(page.data.length)} of ${count(resource.count ?? 0, 'row')}`
              )}
            </RowTable>
          )
        }
      </Part>
      <CallLine path={path} />
      {isCreating && (
        <CreateRow
          {...{ resource, scope }}
          onClose={() => setCreating(false)}
          onCreate={(row) => {
            reload()
            go(withQuery(`/console/data/${name}/${row.id}`, Object.fromEntries(query.value)))
          }}
        />
      )}
    </Screen>
  )
}

interface HeadProps extends Pick<RowsProps, 'data' | 'resource' | 'scope'> {
  readonly children: ComponentChildren
}

/** The customer, the version, and the operations on the list. */
const Head = ({ data, resource, scope: { customer, mode, version }, children }: HeadProps) => (
  <div class="head">
    <p class="soft small">
      {count(resource.count ?? 0, 'row')} of{' '}
      <a href={href(`/console/customers/${customer}`)}>{customerName(customer)}</a>, {mode}. Times
      are in UTC.
    </p>
    <div class="acts">
      {data.versions.length > 1 && (
        <Segments
          label="Version"
          value={version}
          options={data.versions.map((version) => [version, version] as const)}
          // Fields, filters and sorts can have other names.
          onChange={(name) => go(href(place.value.path, { version: name }))}
        />
      )}
      {children}
    </div>
  </div>
)

interface RowTableProps {
  readonly page: CursorPage<DataRow>
  readonly resource: Resource
  readonly sort: string | undefined
  readonly nameOf: Parameters<typeof columnsOf>[1]
  readonly id: string | undefined
  readonly pageHref: (cursor: string | null | undefined) => string | undefined
  /** The number of rows. */
  readonly children: ComponentChildren
}

function RowTable({ page, resource, sort, nameOf, id, pageHref, children }: RowTableProps) {
  const [key] = sort?.split(',') ?? []
  const sorted = key && {
    column: key.replace('-', ''),
    direction: key.startsWith('-') ? ('descending' as const) : ('ascending' as const),
  }
  return (
    <>
      <Table
        caption={resource.name}
        columns={columnsOf(resource, nameOf)}
        rows={page.data}
        rowKey={(row) => String(row.id)}
        isLinked
        current={id}
        {...(sorted && { sort: sorted })}
        onSort={({ column, direction }) =>
          setQuery({
            sort: direction === 'descending' ? `-${column}` : column,
            cursor: undefined,
          })
        }
      />
      <Pager
        newer={pageHref(page.cursors?.prev)}
        older={pageHref(page.next_cursor)}
        words={['Previous', 'Next']}
      >
        {children}
      </Pager>
    </>
  )
}

interface CsvButtonProps {
  readonly resource: Resource
  readonly base: string
  readonly parameters: Query
}

function CsvButton({ resource, base, parameters }: CsvButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      const rows = await saveCsv<DataRow>({
        name: resource.name,
        path: withQuery(base, parameters),
        maxPages: MAX_CSV_PAGES,
        columns: Object.fromEntries(
          resource.fields.map(({ name }) => [name, (row: DataRow) => textOf(row[name])]),
        ),
      })
      say(`Saved ${count(rows, 'row')}.`)
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      say(error.message)
    }
    setBusy(false)
  }
  return (
    <Button size="tiny" busy={isBusy && 'Saving…'} onClick={save}>
      Save as CSV
    </Button>
  )
}

interface FilteredCountProps {
  /** The rows on the page. */
  readonly rows: number
  readonly path: string
  readonly parameters: Query
}

/** A filtered list is counted on request, because counting reads its rows. */
function FilteredCount({ rows, path, parameters }: FilteredCountProps) {
  const [total, setTotal] = useState<number>()
  const [isBusy, setBusy] = useState(false)
  const load = async () => {
    setBusy(true)
    try {
      const words = { ...parameters, pagination: 'offset', limit: 1 }
      setTotal((await get<{ readonly total: number }>(path, { query: words })).total)
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      say(error.message)
    }
    setBusy(false)
  }
  if (total !== undefined) return <>{`${number(rows)} of ${count(total, 'matching row')}`}</>
  return (
    <>
      {count(rows, 'row')}{' '}
      <Button kind="quiet" size="tiny" busy={isBusy && 'Counting…'} onClick={load}>
        Count all
      </Button>
    </>
  )
}

interface NoRowsProps extends Pick<RowsProps, 'resource' | 'scope'> {
  readonly isFiltered: boolean
}

function NoRows({ isFiltered, resource, scope }: NoRowsProps) {
  const { name, access } = resource
  return isFiltered ? (
    <Empty title="No row matches">
      <a href={href(`/console/data/${name}`, { version: scope.version })}>Remove the filter</a>
    </Empty>
  ) : (
    <Empty
      title={`${customerName(scope.customer)} has no rows of ${name} in ${scope.mode} mode yet`}
      {...(access.create && {
        command: curlOf('POST', `/api/${scope.version}/${name}`, sampleBody(resource)),
      })}
    >
      {access.create
        ? 'Create a row here, or by a request of the customer.'
        : 'The service creates these rows itself.'}
      <OtherMode
        pathOf={(other) => withQuery(rowsPath({ ...scope, mode: other }, name), { limit: LIMIT })}
        noun="row"
      />
    </Empty>
  )
}
