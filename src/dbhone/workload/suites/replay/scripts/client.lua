-- A connection by the client library with which sysbench is linked, without sysbench's own layer.
--
-- That layer takes an error of a statement for the end of the run, and gives parameters types of
-- its own. Here an error is a result, and the server finds the types out, as for most clients.

local ffi = require("ffi")

ffi.cdef[[
   void *PQconnectdb(const char *conninfo);
   int PQstatus(const void *con);
   char *PQerrorMessage(const void *con);
   void *PQexec(void *con, const char *sql);
   void *PQprepare(void *con, const char *name, const char *sql, int count, const void *types);
   void *PQexecParams(void *con, const char *sql, int count, const void *types,
                      const char *const *values, const int *lengths, const int *formats, int format);
   void *PQexecPrepared(void *con, const char *name, int count, const char *const *values,
                        const int *lengths, const int *formats, int format);
   int PQresultStatus(const void *result);
   char *PQresultErrorField(const void *result, int field);
   int PQntuples(const void *result);
   int PQnfields(const void *result);
   char *PQgetvalue(const void *result, int row, int column);
   int PQgetlength(const void *result, int row, int column);
   int PQgetisnull(const void *result, int row, int column);
   void PQclear(void *result);
   void PQfinish(void *con);

   void *mysql_init(void *con);
   int mysql_options(void *con, int option, const void *value);
   void *mysql_real_connect(void *con, const char *host, const char *user, const char *password,
                            const char *database, unsigned int port, const char *socket,
                            unsigned long flags);
   int mysql_real_query(void *con, const char *sql, unsigned long length);
   void *mysql_store_result(void *con);
   unsigned int mysql_num_fields(void *result);
   unsigned long long mysql_num_rows(void *result);
   char **mysql_fetch_row(void *result);
   unsigned long *mysql_fetch_lengths(void *result);
   void mysql_free_result(void *result);
   int mysql_next_result(void *con);
   unsigned int mysql_errno(void *con);
   const char *mysql_error(void *con);
   const char *mysql_sqlstate(void *con);
   void mysql_close(void *con);
]]

local client = {}
local C = ffi.C
local PREPARED_AT_MOST = 1000

-- PostgreSQL

local TUPLES = 2
local ERRORS = {[5] = true, [7] = true}
local SQLSTATE, MESSAGE = 67, 77
local COPY = {[3] = true, [4] = true, [8] = true}
local NO_TYPE = "42P18"
local AMBIGUOUS = {["42725"] = true, ["42883"] = true}
local TEXT, INTEGER, NUMERIC = 25, 23, 1700
local INTEGER_DIGITS = 9

local postgresql = {}
postgresql.__index = postgresql

local function quoted(text)
   return "'" .. text:gsub("\\", "\\\\"):gsub("'", "\\'") .. "'"
end

function postgresql.connect()
   local opt = sysbench.opt
   local con = C.PQconnectdb(string.format(
      "host=%s port=%s user=%s dbname=%s", quoted(opt.pgsql_host), tostring(opt.pgsql_port),
      quoted(opt.pgsql_user), quoted(opt.pgsql_db)))
   if C.PQstatus(con) ~= 0 then
      error("the server lets no client in: " .. ffi.string(C.PQerrorMessage(con)), 0)
   end
   C.PQclear(C.PQexec(con, "SET client_min_messages = error"))
   return setmetatable({con = con, prepared = {}, types = {}, count = 0}, postgresql)
end

-- Return the SQLSTATE of a result that is an error, nil if it is none. READ gets any other. What an
-- error says is the connection's MESSAGE.
function postgresql:outcome(result, read)
   local status = C.PQresultStatus(result)
   local failure
   if ERRORS[status] or COPY[status] then
      local state = C.PQresultErrorField(result, SQLSTATE)
      failure = state ~= nil and ffi.string(state) or "?"
      local message = C.PQresultErrorField(result, MESSAGE)
      self.message = message ~= nil and ffi.string(message) or "?"
      if C.PQstatus(self.con) ~= 0 then
         error("the server closed the connection: " .. ffi.string(C.PQerrorMessage(self.con)), 0)
      end
   elseif read then
      read(self, result, status == TUPLES)
   end
   C.PQclear(result)
   return failure
end

function postgresql:text(sql, length, read)
   return self:outcome(C.PQexec(self.con, sql), read)
end

-- Statements of one template may differ in their literals, so that each text is prepared by itself.
function postgresql:bound(named, sql, count, values, read)
   local text = ffi.string(sql)
   local types, name = self.types[text], self.prepared[text]
   if not named or (not name and self.count >= PREPARED_AT_MOST) then
      return self:outcome(C.PQexecParams(self.con, sql, count, types, values, nil, nil, 0), read)
   end
   if not name then
      name = "hone" .. self.count
      local failure = self:outcome(C.PQprepare(self.con, name, sql, types and count or 0, types))
      if failure then
         return failure
      end
      self.prepared[text], self.count = name, self.count + 1
   end
   return self:outcome(C.PQexecPrepared(self.con, name, count, values, nil, nil, 0), read)
end

-- Return a type for a value whose type the server does not find out, nought for none.
local function type_of(value)
   local digits = value ~= nil and ffi.string(value):match("^%-?(%d+%.?%d*)$")
   if not digits then
      return 0
   end
   return #digits <= INTEGER_DIGITS and not digits:find(".", 1, true) and INTEGER or NUMERIC
end

-- Return whether a statement that failed may be sent in another way: with types of parameters that
-- the server did not find out, as the original's client had given them. Which, no log says.
function postgresql:another_way(sql, count, values, failure)
   local text = ffi.string(sql)
   local types = self.types[text] or ffi.new("unsigned int[?]", count)
   local unknown = failure == NO_TYPE and tonumber(self.message:match("%$(%d+)"))
   local changed = false
   for at = 0, count - 1 do
      local found = unknown == at + 1 and TEXT or AMBIGUOUS[failure] and type_of(values[at]) or 0
      if types[at] == 0 and found ~= 0 then
         types[at], changed = found, true
      end
   end
   self.types[text] = changed and types or self.types[text]
   return changed
end

-- Call EACH with every row as a list of texts, false for NULL.
function postgresql.rows(_, result, has_rows, each)
   local columns = has_rows and C.PQnfields(result) or 0
   for row = 0, has_rows and C.PQntuples(result) - 1 or -1 do
      local texts = {}
      for column = 0, columns - 1 do
         texts[column + 1] = C.PQgetisnull(result, row, column) == 0
            and ffi.string(C.PQgetvalue(result, row, column), C.PQgetlength(result, row, column))
      end
      each(texts)
   end
end

function postgresql:close()
   C.PQfinish(self.con)
end

-- MySQL and MariaDB

local CHARSET = 7
local ANOTHER = 0
local GONE = {[2006] = true, [2013] = true, [2055] = true}

local mysql = {}
mysql.__index = mysql

local function first(option)
   return type(option) == "table" and option[1] or option
end

function mysql.connect()
   local opt, con = sysbench.opt, C.mysql_init(nil)
   C.mysql_options(con, CHARSET, "utf8mb4")
   if C.mysql_real_connect(con, nil, opt.mysql_user, nil, opt.mysql_db, 0,
                           first(opt.mysql_socket), 0) == nil then
      error("the server lets no client in: " .. ffi.string(C.mysql_error(con)), 0)
   end
   return setmetatable({con = con}, mysql)
end

-- Return the number of the error that the last call met, nil if it met none. What it says is the
-- connection's MESSAGE.
function mysql:failure()
   local number = C.mysql_errno(self.con)
   if GONE[number] then
      error("the server closed the connection: " .. ffi.string(C.mysql_error(self.con)), 0)
   end
   if number == 0 then
      return nil
   end
   self.message = ffi.string(C.mysql_error(self.con))
   return tostring(number)
end

-- A procedure that is called has a result for each of its reads, and one for itself.
function mysql:text(sql, length, read)
   local going = C.mysql_real_query(self.con, sql, length)
   while going == ANOTHER do
      local result = C.mysql_store_result(self.con)
      if result ~= nil then
         if read then
            read(self, result, true)
         end
         C.mysql_free_result(result)
      elseif C.mysql_errno(self.con) ~= 0 then
         break
      end
      going = C.mysql_next_result(self.con)
   end
   return self:failure()
end

function mysql.rows(_, result, _, each)
   local columns = tonumber(C.mysql_num_fields(result))
   local row = C.mysql_fetch_row(result)
   while row ~= nil do
      local lengths, texts = C.mysql_fetch_lengths(result), {}
      for column = 0, columns - 1 do
         texts[column + 1] = row[column] ~= nil and ffi.string(row[column], lengths[column])
      end
      each(texts)
      row = C.mysql_fetch_row(result)
   end
end

function mysql:close()
   C.mysql_close(self.con)
end

-- Return a connection of its own for this thread. Raises an error if the server refuses it.
function client.connect()
   local kind = sysbench.opt.db_driver == "pgsql" and postgresql or mysql
   return kind.connect()
end

-- Statements after which the server lets a connection's statements take any time: what hone asks
-- for itself must not end early. MariaDB alone reads the first comment, MySQL alone the second.
client.WITHOUT_TIMEOUTS = {
   pgsql = "SET statement_timeout = 0",
   mysql = "SET @hone = 0 /*M!100101 , max_statement_time = 0 */"
      .. " /*!50708 , max_execution_time = 0 */",
}

-- Return all rows of a statement, which must succeed.
function client.query(con, sql)
   local rows = {}
   local failure = con:text(sql, #sql, function (own, result, has_rows)
      own:rows(result, has_rows, function (row)
         rows[#rows + 1] = row
      end)
   end)
   if failure then
      error(string.format("%s failed: %s %s", sql:sub(1, 60), failure, con.message), 0)
   end
   return rows
end

return client
