/** SQLite in the file of `--db`. */
const { option } = require('../option.js')

const connection = { filename: option('db') }
module.exports = { connection: { client: 'sqlite', connection, useNullAsDefault: true } }
