-- Numbers from 1 to a limit, x with a probability in proportion to 1 / x^s: what sysbench 1.1 calls
-- --rand-type=zipfian, which 1.0 lacks. Its exponent s is 0.8, unless another is given.
--
-- The method is rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to
-- generate variates from monotone discrete distributions", ACM Transactions on Modeling and
-- Computer Simulation 6(3), 1996. As the exponent is not 1, the integral H of h(x) = x^-s has
-- a closed form: H(x) = x^(1-s) / (1-s).

local zipf = {}

local EXPONENT = 0.8

-- Return a function that returns such a number.
function zipf.source(limit, exponent)
   exponent = exponent or EXPONENT
   local rest = 1 - exponent

   local function h(x)
      return x ^ -exponent
   end

   local function integral(x)
      return x ^ rest / rest
   end

   local function inverse(y)
      return (y * rest) ^ (1 / rest)
   end

   local lowest = integral(1.5) - 1
   local highest = integral(limit + 0.5)
   local surely = 2 - inverse(integral(2.5) - h(2))

   return function ()
      while true do
         local y = highest + sysbench.rand.uniform_double() * (lowest - highest)
         local x = inverse(y)
         local whole = math.min(math.max(math.floor(x + 0.5), 1), limit)
         if whole - x <= surely or y >= integral(whole + 0.5) - h(whole) then
            return whole
         end
      end
   end
end

return zipf
