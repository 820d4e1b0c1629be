/** The list only, and open to all. */
const { factories } = require('@strapi/strapi')

const config = { find: { auth: false } }
module.exports = factories.createCoreRouter('api::member.member', { only: ['find'], config })
