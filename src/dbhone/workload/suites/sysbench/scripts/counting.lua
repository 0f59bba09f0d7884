-- Counts events where another process reads them while they go on: in a file that both map.
--
-- dbhone stops the whole client between two slices (SIGSTOP), and reads the counts at a slice's
-- two ends. Before each slice it writes another generation: an event that began in one and ended
-- in another was stopped on its way, and is not counted. The file is laid out by
-- workload/counting.py, which has the same figures.

local ffi = require("ffi")

ffi.cdef[[
   struct dbhone_moment { long seconds; long nanoseconds; };
   struct dbhone_head { volatile double generation, ending; char rest[48]; };
   struct dbhone_slot {
      volatile double ready, finished, refused, open;
      char rest[32];
      volatile uint32_t buckets[1024];
   };
   struct dbhone_part { volatile double finished, seconds, failed; };
   int open(const char *path, int flags, ...);
   void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);
   int clock_gettime(int clock, struct dbhone_moment *moment);
   int usleep(unsigned int microseconds);
]]

local READ_AND_WRITE, PROTECTION, SHARED, MONOTONIC = 2, 3, 1, 1
local BUCKETS, SHORTEST, DECADES = 1024, 1e-6, 8
local PER_LOG = BUCKETS / (DECADES * math.log(10))

local counting = {}
local moment = ffi.new("struct dbhone_moment")

function counting.now()
   ffi.C.clock_gettime(MONOTONIC, moment)
   return tonumber(moment.seconds) + tonumber(moment.nanoseconds) * 1e-9
end

local function bucket(seconds)
   local at = math.floor(math.log(math.max(seconds, SHORTEST) / SHORTEST) * PER_LOG)
   return math.min(at, BUCKETS - 1)
end

local function map(path, length)
   local file = ffi.C.open(path, READ_AND_WRITE)
   local start = file >= 0 and ffi.C.mmap(nil, length, PROTECTION, SHARED, file, 0)
   if not start or ffi.cast("intptr_t", start) == -1 then
      error("the file of counts cannot be mapped: " .. path)
   end
   return ffi.cast("char *", start)
end

local HEAD, SLOT = ffi.sizeof("struct dbhone_head"), ffi.sizeof("struct dbhone_slot")

local function slot_of(path, thread)
   local start = map(path, HEAD + SLOT * (thread + 1))
   local slots = ffi.cast("struct dbhone_slot *", start + HEAD)
   return ffi.cast("struct dbhone_head *", start), slots[thread]
end

-- Return the counts of so many parts of events, which a thread of so many keeps in the file at
-- PATH, and what tells the generation, in which a part must begin and end to be counted.
function counting.parts(path, thread, threads, count)
   local size = ffi.sizeof("struct dbhone_part") * count
   local start = map(path, HEAD + SLOT * threads + size * (thread + 1))
   local head = ffi.cast("struct dbhone_head *", start)
   return {
      counts = ffi.cast("struct dbhone_part *", start + HEAD + SLOT * threads + size * thread),
      generation = function ()
         return head.generation
      end,
   }
end

-- Return a function that does a part of an event, and counts it in the file at PATH unless that is
-- empty. NAMES are those of the parts, with commas between them. The function gets a part's name,
-- which may be none of these, what is to be done, and its arguments. A part that raises an error has
-- failed.
function counting.performer(names, path, thread, threads)
   local numbers, count = {}, 0
   for name in names:gmatch("[^,]+") do
      numbers[name], count = count, count + 1
   end
   if count == 0 or path == "" then
      return function (_, act, ...)
         act(...)
      end
   end
   local parts = counting.parts(path, thread, threads, count)
   local open

   return function (name, act, ...)
      if open then
         open.failed = open.failed + 1
      end
      local part = numbers[name] and parts.counts[numbers[name]]
      open = part
      local generation, began = parts.generation(), counting.now()
      act(...)
      if part and parts.generation() == generation then
         part.finished, part.seconds = part.finished + 1, part.seconds + counting.now() - began
      end
      open = nil
   end
end

-- Return EVENT as it is counted, by the thread of this number, in the file at PATH. It waits for
-- the first generation, and ends the thread when it is told to. An event that returns false was
-- refused.
function counting.counted(event, path, thread)
   local head, slot = slot_of(path, thread)
   slot.ready = 1

   return function ()
      if slot.open ~= 0 then -- the event before did not come to its end
         slot.refused, slot.open = slot.refused + 1, 0
      end
      while head.generation == 0 and head.ending == 0 do
         ffi.C.usleep(1000)
      end
      if head.ending ~= 0 then
         return true
      end
      slot.open = 1
      local generation, began = head.generation, counting.now()
      local refused = event() == false
      local took = counting.now() - began
      if refused then
         slot.refused = slot.refused + 1
      elseif head.generation == generation then
         local at = bucket(took)
         slot.buckets[at] = slot.buckets[at] + 1
         slot.finished = slot.finished + 1
      end
      slot.open = 0
   end
end

return counting
